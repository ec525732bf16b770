package redfish_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
)

// TestTheOneSystem: which one is switched, and what is refused because it isn't
// the one that was meant (S11).
func TestTheOneSystem(t *testing.T) {
	const second = "22222222-4455-6677-8899-aabbccddeeff"
	for name, tc := range map[string]struct {
		params map[string]string
		// doubled gives the third system the UUID of the first.
		doubled bool
		id      string
		kind    error
		text    string
	}{
		"by URI":                             {params: map[string]string{}, id: "1"},
		"by URI, with a slash at its end":    {params: map[string]string{"systems_uri": uri + "/"}, id: "1"},
		"by URI and UUID":                    {params: map[string]string{"uuid": uuid}, id: "1"},
		"by UUID, which is not the last one": {params: map[string]string{"systems_uri": "", "uuid": second}, id: "2"},
		"by UUID as firmware turns it":       {params: map[string]string{"systems_uri": "", "uuid": "33221100-5544-7766-8899-aabbccddeeff"}, id: "1"},
		"by URI with another's UUID":         {params: map[string]string{"uuid": second}, kind: device.ErrUnknown, text: "system " + uri + ` has UUID "` + uuid + `", configured is ` + second},
		"by URI of one that says no UUID":    {params: map[string]string{"systems_uri": "/redfish/v1/Systems/3", "uuid": second}, kind: device.ErrUnknown, text: `system /redfish/v1/Systems/3 has UUID "", configured is ` + second},
		"by a UUID that nobody has":          {params: map[string]string{"systems_uri": "", "uuid": another}, kind: device.ErrUnknown, text: "none of the BMC's 3 systems has UUID " + another},
		"by a UUID that two have":            {params: map[string]string{"systems_uri": "", "uuid": uuid}, doubled: true, kind: device.ErrUnknown, text: "systems " + uri + " and /redfish/v1/Systems/3 both have UUID " + uuid + "; name one of them by systems_uri"},
		"by a URI that isn't there":          {params: map[string]string{"systems_uri": "/redfish/v1/Systems/4"}, kind: device.ErrUnknown, text: "read system /redfish/v1/Systems/4: status 404: Base.1.8.ResourceMissingAtURI: The resource at the URI was not found."},
		"by the URI of a chassis":            {params: map[string]string{"systems_uri": "/redfish/v1/Chassis/1"}, kind: device.ErrUnknown, text: `/redfish/v1/Chassis/1 is no computer system, but "#Chassis.v1_14_0.Chassis"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if tc.doubled {
				s.Put(redfishtest.System{ID: "3", UUID: uuid, Power: redfishtest.On})
			}
			d := s.dial(t, tc.params)
			var want, switched []string
			text := ""
			if tc.kind != nil {
				text = fmt.Sprintf("%v: %s:%s: %s", tc.kind, s.host, s.port, tc.text)
			} else {
				want = []string{tc.id + " ForceOff"}
			}
			_, serr := d.State(t.Context())
			oerr := d.Off(t.Context())
			for _, r := range s.Resets() {
				switched = append(switched, r.ID+" "+r.Type)
			}
			if d := cmp.Diff([]any{text, text, want}, []any{devicetest.Words(serr), devicetest.Words(oerr), switched}); d != "" || !errors.Is(oerr, tc.kind) {
				t.Error(d)
			}
		})
	}
}

// TestLists are of any length that a BMC may have, and end.
func TestLists(t *testing.T) {
	byUUID := map[string]string{"systems_uri": "", "uuid": uuid}
	for name, tc := range map[string]struct {
		change func(*served)
		text   string
		kind   error
	}{
		"in pages":         {func(s *served) { s.PageSize = 2 }, "", nil},
		"one of it unread": {func(s *served) { s.Refuse("GET", "/redfish/v1/Systems/3", redfishtest.Refusal{Status: 500}) }, "read system /redfish/v1/Systems/3: status 500: Base.1.8.GeneralError: A general error has occurred. See Resolution for information on how to resolve the error.", device.ErrUnreachable},
		"pages without end": {func(s *served) {
			s.Refuse("GET", "/redfish/v1/Systems", redfishtest.Refusal{Status: 200, Body: `{"Members@odata.nextLink":"/redfish/v1/Systems"}`})
		}, "the BMC has more than 64 systems; name one of them by systems_uri", device.ErrUnsupported},
		"too many":   {func(s *served) { crowd(s, 70) }, "the BMC has more than 64 systems; name one of them by systems_uri", device.ErrUnsupported},
		"no list":    {func(s *served) { s.Refuse("GET", "/redfish/v1/", redfishtest.Refusal{Status: 200, Body: "{}"}) }, "the BMC has no list of systems", device.ErrUnsupported},
		"no Redfish": {func(s *served) { s.Refuse("GET", "/redfish/v1/", redfishtest.Refusal{Status: 404, Body: "not found"}) }, "read the service: status 404: there is no Redfish service at this address", device.ErrUnsupported},
		"a list of elsewhere": {func(s *served) {
			s.Refuse("GET", "/redfish/v1/", redfishtest.Refusal{Status: 200, Body: `{"Systems":{"@odata.id":"//192.0.2.1/x"}}`})
		}, "list the systems: the link leads to another host or port, 192.0.2.1", device.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			tc.change(s)
			r, err := s.dial(t, byUUID).State(t.Context())
			want := device.Reading{Power: device.On, Identity: uuid}
			text := ""
			if tc.kind != nil {
				want, text = device.Reading{}, fmt.Sprintf("%v: %s:%s: %s", tc.kind, s.host, s.port, tc.text)
			}
			if d := cmp.Diff([]any{want, text}, []any{r, devicetest.Words(err)}); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
		})
	}
}

func crowd(s *served, n int) {
	for i := range n {
		s.Put(redfishtest.System{ID: "more-" + strconv.Itoa(i), Power: redfishtest.On})
	}
}

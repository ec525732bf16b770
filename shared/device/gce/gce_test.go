package gce_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "gce", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "gce", Secrets: []string{token, "PRIVATE KEY"}, Identity: id,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t)
			url := s.URL
			if fault == devicetest.Unreachable {
				url = "http://" + port.Nobody(t)
			}
			return s.Machine(dial(t, url, nil), fault)
		},
	}
}

const at = ": instance " + name + " in europe-west1-b: "

// TestStates: what each status reads as, and what off and on send in it.
func TestStates(t *testing.T) {
	const (
		off, on  = stop + "?noGracefulShutdown=true", start
		stopping = "machine is on its way off" + at + "it is "
		no       = "device does not support this" + at
	)
	for status, tc := range map[string]struct {
		want    device.Power
		err     string
		off, on string
	}{
		"RUNNING":        {want: device.On, off: off},
		"PROVISIONING":   {want: device.On, off: off},
		"STAGING":        {want: device.On, off: off},
		"TERMINATED":     {want: device.Off, on: on},
		"SUSPENDED":      {want: device.On, off: off, on: "device refused in its present state" + at + "it is SUSPENDED: it would go on where it was, with what it had in memory; stop it first"},
		"STOPPING":       {err: stopping + "STOPPING", off: stopping + "STOPPING", on: stopping + "STOPPING"},
		"PENDING_STOP":   {err: stopping + "PENDING_STOP", off: stopping + "PENDING_STOP", on: stopping + "PENDING_STOP"},
		"SUSPENDING":     {err: stopping + "SUSPENDING", off: stopping + "SUSPENDING", on: stopping + "SUSPENDING"},
		"DEPROVISIONING": {err: stopping + "DEPROVISIONING", off: stopping + "DEPROVISIONING", on: stopping + "DEPROVISIONING"},
		"REPAIRING":      {err: "device unreachable" + at + "it is REPAIRING: Compute Engine has lost it or is mending it, and nobody knows whether it runs", off: off, on: on},
		"NAPPING":        {err: no + "it is NAPPING, which this build does not know", off: off, on: on},
		"terminated":     {err: no + "it is terminated, which this build does not know", off: off, on: on},
	} {
		t.Run(status, func(t *testing.T) {
			s := serve(t)
			s.status = status
			d := dial(t, s.URL, nil)
			r, err := d.State(t.Context())
			want := device.Reading{Power: tc.want, Identity: id}
			if tc.err != "" {
				want = device.Reading{}
			}
			if diff := cmp.Diff([]any{want, tc.err}, []any{r, devicetest.Words(err)}); diff != "" {
				t.Error(diff)
			}
			did := func(err error) string {
				for _, h := range s.Heard() {
					if strings.HasPrefix(h, "POST ") && h != "POST /token" {
						return h
					}
				}
				return devicetest.Words(err)
			}
			s.Heard()
			got := [2]string{did(d.Off(t.Context()))}
			got[1] = did(d.On(t.Context()))
			if diff := cmp.Diff([2]string{tc.off, tc.on}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheOneInstance: a new instance of the old name is another machine (S11).
func TestTheOneInstance(t *testing.T) {
	s := serve(t)
	d := dial(t, s.URL, map[string]string{"id": another})
	want := "device does not know this machine" + at + "it has ID " + id + ", configured is " + another + ": another one has its name"
	if diff := cmp.Diff([]string{want, want}, []string{devicetest.Words(d.Off(t.Context())), devicetest.Words(d.On(t.Context()))}); diff != "" {
		t.Error(diff)
	}
	if r, err := d.State(t.Context()); err != nil || r.Identity != id { // for the caller to refuse
		t.Error(r, err)
	}
	if err := dial(t, s.URL, map[string]string{"id": id}).Off(t.Context()); err != nil || len(s.Commands()) != 1 {
		t.Error(err, s.Commands())
	}
}

// TestErrors: each answer in the one error that tells an operator what to correct.
func TestErrors(t *testing.T) {
	google := func(reason string) string {
		return `{"error":{"code":1,"message":"words of\nGoogle","errors":[{"reason":"` + reason + `"}]}}`
	}
	for name, tc := range map[string]struct {
		request, body string
		status        int
		header        []string
		kind          error
		text          string
	}{
		"401":                         {read, google("authError"), 401, nil, device.ErrDenied, "read it: status 401: authError: words of Google"},
		"403":                         {read, google("forbidden"), 403, nil, device.ErrDenied, "read it: status 403: forbidden: words of Google"},
		"403 for the rate":            {read, google("rateLimitExceeded"), 403, nil, device.ErrUnreachable, "read it: status 403: rateLimitExceeded: words of Google"},
		"404":                         {read, google("notFound"), 404, nil, device.ErrUnknown, "read it: status 404: notFound: words of Google"},
		"404 of somebody else":        {read, "<html>", 404, nil, device.ErrUnsupported, "read it: status 404: there is no such API at this address"},
		"409":                         {stop, google("conflict"), 409, nil, device.ErrConflict, "stop: status 409: conflict: words of Google"},
		"412":                         {stop, google("conditionNotMet"), 412, nil, device.ErrConflict, "stop: status 412: conditionNotMet: words of Google"},
		"429":                         {read, google("x"), 429, []string{"Retry-After", "7"}, device.ErrUnreachable, "read it: status 429: busy, asks to wait 7 s: x: words of Google"},
		"500":                         {read, google("internalError"), 500, nil, device.ErrUnreachable, "read it: status 500: internalError: words of Google"},
		"503":                         {stop, "", 503, nil, device.ErrUnreachable, "stop: status 503: busy"},
		"a page":                      {read, "<html>", 200, nil, device.ErrUnsupported, "read it: the answer is not what the API has: invalid character '<' looking for beginning of value"},
		"no ID":                       {read, "{}", 200, nil, device.ErrUnsupported, "read it: the answer has no ID"},
		"a redirect":                  {read, "", 302, []string{"Location", "https://192.0.2.1/"}, device.ErrUnsupported, "read it: status 302: a redirect that is not followed"},
		"a key that was withdrawn":    {"POST /token", `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`, 400, nil, device.ErrDenied, "get a token: status 400: invalid_grant: Invalid JWT Signature."},
		"no tokens now":               {"POST /token", "", 500, nil, device.ErrUnreachable, "get a token: status 500"},
		"an empty token":              {"POST /token", "{}", 200, nil, device.ErrDenied, "get a token: the answer has none"},
		"a secret in an answer (S29)": {read, google(token), 403, nil, device.ErrDenied, "read it: status 403: (redacted): words of Google"},
		"refused later":               {"GET " + base + "/operations/operation-1", `{"name":"operation-1","status":"DONE","error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"no room"}]}}`, 200, nil, device.ErrConflict, "stop: ZONE_RESOURCE_POOL_EXHAUSTED: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.SetFault(devicetest.AcceptAndIgnore)
			s.Answer(tc.request, resttest.Always(tc.status, tc.body, tc.header...))
			err := dial(t, s.URL, nil).Off(t.Context())
			if d := cmp.Diff(tc.kind.Error()+at+tc.text, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
			if n := s.Sent(stop); n > 1 {
				t.Errorf("stop was sent %d times", n)
			}
		})
	}
}

// TestMetadataServer is who this process is where no key is given.
func TestMetadataServer(t *testing.T) {
	s := serve(t)
	const path = "GET /computeMetadata/v1/instance/service-accounts/default/token"
	s.Answer(path, resttest.Always(200, `{"access_token":"`+token+`","expires_in":1}`))
	d := dialAs(t, strings.TrimPrefix(s.URL, "http://"), s.URL, map[string]string{"key": ""})
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Error(r, err)
	}
	s.Answer(path, resttest.Always(404, "not found"))
	_, err := d.State(t.Context())
	if want := "device denied access" + at + "get a token from the metadata server: status 404: there is no such API at this address"; devicetest.Words(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestRights are asked for on the instance, all at once, and nothing is switched.
func TestRights(t *testing.T) {
	for name, tc := range map[string]struct {
		has  []string
		want []string
	}{
		"all":     {[]string{"compute.instances.stop", "compute.instances.start", "compute.instances.get"}, []string{}},
		"to read": {[]string{"compute.instances.get"}, []string{"compute.instances.start", "compute.instances.stop"}},
		"none":    {nil, []string{"compute.instances.get", "compute.instances.start", "compute.instances.stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.rights = tc.has
			got, err := dial(t, s.URL, nil).(device.Rights).Lacking(t.Context())
			if d := cmp.Diff(tc.want, got); d != "" || err != nil || s.Shown() != resttest.On {
				t.Error(err, d)
			}
		})
	}
	s := serve(t)
	s.SetFault(devicetest.WrongPassword)
	if got, err := dial(t, s.URL, nil).(device.Rights).Lacking(t.Context()); got != nil || !errors.Is(err, device.ErrDenied) {
		t.Errorf("who is not let in: %q, %v", got, err)
	}
}

package azure_test

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

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "azure", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "azure", Secrets: []string{token, secret}, Identity: vmID,
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

const at = ": virtual machine " + name + " in " + group + ": "

// TestStates: what each power state reads as, and what off and on send in it.
func TestStates(t *testing.T) {
	const (
		stop, start = off + "?skipShutdown=true&api-version=2024-07-01", on + "?api-version=2024-07-01"
		stopping    = "machine is on its way off" + at + "it is "
		lost        = "device unreachable" + at
		asleep      = "device refused in its present state" + at + "it is deallocated, and its hibernation is Hibernated: started, it goes on where it was, and is not off; deallocate it without hibernation, or delete it"
	)
	for name, tc := range map[string]struct {
		codes   []string
		want    device.Power
		err     string
		off, on string
	}{
		"running":                          {codes: []string{"ProvisioningState/succeeded", "PowerState/running"}, want: device.On, off: stop},
		"starting":                         {codes: []string{"PowerState/starting"}, want: device.On, off: stop},
		"stopped":                          {codes: []string{"PowerState/stopped"}, want: device.Off, on: start},
		"deallocated":                      {codes: []string{"PowerState/deallocated"}, want: device.Off, on: start},
		"hibernated (S1, S4)":              {codes: []string{"ProvisioningState/succeeded", "PowerState/deallocated", "HibernationState/Hibernated"}, err: asleep, off: asleep, on: asleep},
		"stopping":                         {codes: []string{"PowerState/stopping"}, err: stopping + "stopping", off: stopping + "stopping", on: stopping + "stopping"},
		"deallocating":                     {codes: []string{"PowerState/deallocating"}, err: stopping + "deallocating", off: stopping + "deallocating", on: stopping + "deallocating"},
		"unknown":                          {codes: []string{"PowerState/unknown"}, err: lost + "Azure calls its power state unknown", off: stop, on: start},
		"none, though a request succeeded": {codes: []string{"ProvisioningState/succeeded"}, err: lost + "Azure tells 0 power states of it, as of a machine whose host it has lost; nobody knows whether it runs", off: stop, on: start},
		"two":                              {codes: []string{"PowerState/stopped", "PowerState/running"}, err: lost + "Azure tells 2 power states of it, as of a machine whose host it has lost; nobody knows whether it runs", off: stop, on: start},
		"one that nobody knows":            {codes: []string{"PowerState/hibernated"}, err: "device does not support this" + at + "it is hibernated, which this build does not know", off: stop, on: start},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.codes = tc.codes
			d := dial(t, s.URL, nil)
			r, err := d.State(t.Context())
			want := device.Reading{Power: tc.want, Identity: vmID}
			if tc.err != "" {
				want = device.Reading{}
			}
			if diff := cmp.Diff([]any{want, tc.err}, []any{r, devicetest.Words(err)}); diff != "" {
				t.Error(diff)
			}
			did := func(err error) string {
				for _, h := range s.Heard() {
					if strings.HasPrefix(h, "POST /subscriptions/") {
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

// TestTheOneMachine: a new machine of the old name is another one (S11).
func TestTheOneMachine(t *testing.T) {
	s := serve(t)
	want := "device does not know this machine" + at + "it has vmId " + vmID + ", configured is " + another + ": another one has its name"
	d := dial(t, s.URL, map[string]string{"vm_id": another})
	if diff := cmp.Diff([]string{want, want}, []string{devicetest.Words(d.Off(t.Context())), devicetest.Words(d.On(t.Context()))}); diff != "" {
		t.Error(diff)
	}
	// As the system on it reads it, with its first three fields turned around.
	if err := dial(t, s.URL, map[string]string{"vm_id": "33221100-5544-7766-8899-aabbccddeeff"}).Off(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"off"}, s.Commands()); diff != "" {
		t.Error(diff)
	}
}

// TestErrors: each answer in the one error that tells an operator what to correct.
func TestErrors(t *testing.T) {
	const issue, words = "POST /my-tenant/oauth2/v2.0/token", "words of Azure"
	arm := func(code string) string {
		return `{"error":{"code":"` + code + `","message":"words of\nAzure"}}`
	}
	for name, tc := range map[string]struct {
		request, body string
		status        int
		kind          error
		text          string
	}{
		"401":                         {read, arm("ExpiredAuthenticationToken"), 401, device.ErrDenied, "read it: status 401: ExpiredAuthenticationToken: " + words},
		"403":                         {read, arm("AuthorizationFailed"), 403, device.ErrDenied, "read it: status 403: AuthorizationFailed: " + words},
		"404":                         {read, arm("ResourceNotFound"), 404, device.ErrUnknown, "read it: status 404: ResourceNotFound: " + words},
		"404 of somebody else":        {read, "<html>", 404, device.ErrUnsupported, "read it: status 404: there is no such API at this address"},
		"409":                         {off, arm("Conflict"), 409, device.ErrConflict, "powerOff: status 409: Conflict: " + words},
		"409 of a lock":               {off, arm("ScopeLocked"), 409, device.ErrConflict, "powerOff: status 409: ScopeLocked: " + words},
		"409 of a subscription":       {off, arm("ReadOnlyDisabledSubscription"), 409, device.ErrDenied, "powerOff: status 409: ReadOnlyDisabledSubscription: " + words},
		"400 of the version":          {read, arm("InvalidApiVersionParameter"), 400, device.ErrUnsupported, "read it: status 400: InvalidApiVersionParameter: " + words},
		"429":                         {off, arm("TooManyRequests"), 429, device.ErrUnreachable, "powerOff: status 429: busy: TooManyRequests: " + words},
		"500":                         {off, arm("InternalServerError"), 500, device.ErrUnreachable, "powerOff: status 500: InternalServerError: " + words},
		"a page":                      {read, "<html>", 200, device.ErrUnsupported, "read it: the answer is not what the API has: invalid character '<' looking for beginning of value"},
		"no vmId":                     {read, "{}", 200, device.ErrUnsupported, "read it: the answer has no vmId"},
		"a wrong secret":              {issue, `{"error":"invalid_client","error_description":"AADSTS7000215"}`, 401, device.ErrDenied, "get a token: status 401: invalid_client: AADSTS7000215"},
		"a directory that isn't":      {issue, `{"error":"invalid_request","error_description":"AADSTS90002"}`, 400, device.ErrDenied, "get a token: status 400: invalid_request: AADSTS90002"},
		"no tokens now":               {issue, "", 503, device.ErrUnreachable, "get a token: status 503: busy"},
		"an empty token":              {issue, "{}", 200, device.ErrDenied, "get a token: the answer has none"},
		"a secret in an answer (S29)": {read, arm(secret + token), 403, device.ErrDenied, "read it: status 403: (redacted)(redacted): " + words},
		"refused later":               {"GET /operations/1", `{"status":"Failed","error":{"code":"VMNotHealthy","message":"no"}}`, 200, device.ErrConflict, "powerOff: Failed: VMNotHealthy: no"},
		"failed later":                {"GET /operations/1", `{"status":"Failed","error":{"code":"InternalExecutionError","message":"no"}}`, 200, device.ErrUnreachable, "powerOff: Failed: InternalExecutionError: no"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.SetFault(devicetest.AcceptAndIgnore)
			s.operation = s.URL + "/operations/1"
			s.Answer(tc.request, resttest.Always(tc.status, tc.body))
			err := dial(t, s.URL, nil).Off(t.Context())
			if d := cmp.Diff(tc.kind.Error()+at+tc.text, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
			if n := s.Sent(off); n > 1 {
				t.Errorf("powerOff was sent %d times", n)
			}
		})
	}
}

// TestNoOtherHost: an operation elsewhere hears nothing, the token least of all.
func TestNoOtherHost(t *testing.T) {
	s, stranger := serve(t), serve(t)
	s.operation = stranger.URL + "/operations/1"
	if err := dial(t, s.URL, nil).Off(t.Context()); err != nil {
		t.Error(err)
	}
	if heard := stranger.Heard(); len(heard) > 0 {
		t.Errorf("the other host heard %q", heard)
	}
}

// TestRights are asked for on the machine, all at once, and nothing is switched.
func TestRights(t *testing.T) {
	const vm, reads = "Microsoft.Compute/virtualMachines/", `{"value":[{"actions":["Microsoft.Compute/virtualMachines/read","Microsoft.Compute/virtualMachines/instanceView/read"],"notActions":[]}]`
	for name, tc := range map[string]struct {
		pages []string
		want  []string
	}{
		"all, by name":                         {[]string{`{"value":[{"actions":["microsoft.compute/virtualmachines/READ","Microsoft.Compute/virtualMachines/instanceView/read","Microsoft.Compute/virtualMachines/start/action","Microsoft.Compute/virtualMachines/powerOff/action"]}]}`}, []string{}},
		"all, as Virtual Machine Contributor":  {[]string{`{"value":[{"actions":["Microsoft.Authorization/*/read","Microsoft.Compute/virtualMachines/*"],"notActions":[]}]}`}, []string{}},
		"to read":                              {[]string{reads + "}"}, []string{vm + "start/action", vm + "powerOff/action"}},
		"to read, and the rest on a next page": {[]string{reads + `,"nextLink":"{at}?api-version=1&$skiptoken=2"}`, `{"value":[{"actions":["*/action"]}]}`}, []string{}},
		"all, as Reader":                       {[]string{`{"value":[{"actions":["*/read"],"notActions":[]}]}`}, []string{vm + "start/action", vm + "powerOff/action"}},
		"all but a stop":                       {[]string{`{"value":[{"actions":["*"],"notActions":["Microsoft.Compute/virtualMachines/poweroff/action"]}]}`}, []string{vm + "powerOff/action"}},
		"what one role leaves out another has": {[]string{`{"value":[{"actions":["*"],"notActions":["*/action"]},{"actions":["*/action"],"notActions":[]}]}`}, []string{}},
		"none":                                 {[]string{`{"value":[]}`}, []string{vm + "read", vm + "instanceView/read", vm + "start/action", vm + "powerOff/action"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.permissions = tc.pages
			got, err := dial(t, s.URL, nil).(device.Rights).Lacking(t.Context())
			if d := cmp.Diff(tc.want, got); d != "" || err != nil || s.Shown() != resttest.On || len(s.Commands()) > 0 {
				t.Error(err, d)
			}
		})
	}
	for name, tc := range map[string]struct {
		pages []string
		want  error
	}{
		"it is not told":         {nil, device.ErrUnknown},
		"it goes on elsewhere":   {[]string{reads + `,"nextLink":"https://management.example/"}`}, device.ErrUnsupported},
		"something else answers": {[]string{"<html>"}, device.ErrUnsupported},
	} {
		s := serve(t)
		s.permissions = tc.pages
		if got, err := dial(t, s.URL, nil).(device.Rights).Lacking(t.Context()); got != nil || !errors.Is(err, tc.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

package openstack_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "openstack", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "openstack", Secrets: []string{token, password}, Identity: uuid,
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

const at = ": server " + uuid + ": "

// TestStates: Nova's answer, and whether it counts. Off and on are sent if there is a host
// to carry them out.
func TestStates(t *testing.T) {
	const (
		away, memory = "device unreachable" + at, "; what is known of it is a memory"
		noProof      = "device denied access" + at + "this user may see neither the status nor the name of its host, without which Nova's word is no proof; give it the role to see host_status"
		other        = "device does not support this" + at
	)
	set := func(kv ...any) func(map[string]any) {
		return func(m map[string]any) {
			for i := 0; i < len(kv); i += 2 {
				if m[kv[i].(string)] = kv[i+1]; kv[i+1] == "absent" {
					delete(m, kv[i].(string))
				}
			}
		}
	}
	const status, task, power, hostStatus, host = "status", "OS-EXT-STS:task_state", "OS-EXT-STS:power_state", "host_status", "OS-EXT-SRV-ATTR:host"
	off := []any{status, "SHUTOFF", power, 4}
	with := func(more ...any) func(map[string]any) { return set(slices.Concat(off, more)...) }
	for name, tc := range map[string]struct {
		change  func(map[string]any)
		service map[string]any
		want    device.Power
		err     string
		off, on string
	}{
		"on":                                       {change: set(), want: device.On, off: "off"},
		"off":                                      {change: with(), want: device.Off, on: "on"},
		"off by a host that is down (S2)":          {change: with(hostStatus, "DOWN"), err: away + "its host is DOWN" + memory},
		"off by a host that nobody knows (S2)":     {change: with(hostStatus, "UNKNOWN"), err: away + "its host is UNKNOWN" + memory},
		"off by a host in maintenance (S2)":        {change: with(hostStatus, "MAINTENANCE"), err: away + "its host is MAINTENANCE" + memory},
		"off on no host (S2)":                      {change: with(hostStatus, ""), err: away + "it is on no host" + memory},
		"on by a host that is down":                {change: set(hostStatus, "DOWN"), err: away + "its host is DOWN" + memory},
		"off, by the service of its host":          {change: with(hostStatus, "absent"), want: device.Off, on: "on"},
		"off, and the service is down (S2)":        {change: with(hostStatus, "absent"), service: map[string]any{"host": "compute-3", "state": "down"}, err: away + "the compute service of its host is down" + memory},
		"off, and the service is forced down (S2)": {change: with(hostStatus, "absent"), service: map[string]any{"host": "compute-3", "state": "up", "forced_down": true}, err: away + "the compute service of its host is down" + memory},
		"off, and there is no such service (S2)":   {change: with(hostStatus, "absent"), service: map[string]any{"host": "compute-4", "state": "up"}, err: away + "0 compute services are named as its host" + memory},
		"off, for who may see no host (S2)":        {change: with(hostStatus, "absent", host, "absent"), err: noProof},
		"off, and its hypervisor says on (S2)":     {change: set(status, "SHUTOFF", power, 1), err: away + "Nova calls it SHUTOFF, and the hypervisor's word is power state 1; nobody knows whether it runs"},
		"off, and its hypervisor says nothing":     {change: set(status, "SHUTOFF", power, nil), err: away + "Nova calls it SHUTOFF, and the hypervisor's word is power state -1; nobody knows whether it runs"},
		"on, and its hypervisor says off":          {change: set(power, 4), err: away + "Nova calls it ACTIVE, and the hypervisor's word is power state 4; nobody knows whether it runs"},
		"being stopped":                            {change: set(task, "powering-off"), err: "machine is on its way off" + at + "its task is powering-off"},
		"off, and being deleted":                   {change: with(task, "deleting"), err: "machine is on its way off" + at + "its task is deleting"},
		"off, and being started":                   {change: with(task, "powering-on"), want: device.On, off: "off"},
		"being rebooted":                           {change: set(task, "rebooting_hard"), err: away + "its task is rebooting_hard; what it is after that is not known yet"},
		"off, and being moved":                     {change: with(task, "migrating"), err: away + "its task is migrating; what it is after that is not known yet"},
		"paused goes on where it was":              {change: set(status, "PAUSED", power, 3), want: device.On, off: "off", on: "device refused in its present state" + at + "it is PAUSED: it would go on where it was, with what it had in memory; stop it first"},
		"an error":                                 {change: set(status, "ERROR", power, 0), err: other + "it is ERROR, which is neither on nor off", off: "off", on: "on"},
		"deleted is no proof":                      {change: set(status, "DELETED", power, 4), err: other + "it is DELETED, which is neither on nor off", off: "off", on: "on"},
		"shut down by the hypervisor's word alone": {change: set(status, "VERIFY_RESIZE", power, 4), err: other + "it is VERIFY_RESIZE, which is neither on nor off", off: "off", on: "on"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.SetFault(devicetest.AcceptAndIgnore)
			s.change = tc.change
			if tc.service != nil {
				s.service = tc.service
			}
			d := dial(t, s.URL, nil)
			r, err := d.State(t.Context())
			want := device.Reading{Power: tc.want, Identity: uuid}
			if tc.err != "" {
				want = device.Reading{}
			}
			if diff := cmp.Diff([]any{want, tc.err}, []any{r, devicetest.Words(err)}); diff != "" {
				t.Error(diff)
			}
			// What is to come of it: what is sent, the words of an error, or nothing.
			for goal, do := range map[string]func() error{"off": func() error { return d.Off(t.Context()) }, "on": func() error { return d.On(t.Context()) }} {
				expect := map[string]string{"off": tc.off, "on": tc.on}[goal]
				if expect == "" {
					expect = tc.err
				}
				s.Heard()
				err := do()
				got := devicetest.Words(err)
				if slices.ContainsFunc(s.Heard(), func(h string) bool { return strings.HasPrefix(h, action) }) {
					got = goal
				}
				if diff := cmp.Diff(expect, got); diff != "" {
					t.Error(goal, diff)
				}
			}
		})
	}
}

// TestErrors: each answer in the one error that tells an operator what to correct.
func TestErrors(t *testing.T) {
	nova := `{"aFault":{"code":1,"message":"words of\nNova"}}`
	for name, tc := range map[string]struct {
		request, body string
		status        int
		kind          error
		text          string
	}{
		"401":                         {read, `{"error":{"title":"Unauthorized","message":"expired"}}`, 401, device.ErrDenied, "read it: status 401: Unauthorized: expired"},
		"403":                         {action, nova, 403, device.ErrDenied, "os-stop: status 403: aFault: words of Nova"},
		"404":                         {read, nova, 404, device.ErrUnknown, "read it: status 404: aFault: words of Nova"},
		"404 of somebody else":        {read, "<html>", 404, device.ErrUnsupported, "read it: status 404: there is no such API at this address"},
		"406 of an older Nova":        {read, nova, 406, device.ErrUnsupported, "read it: status 406: aFault: words of Nova"},
		"409":                         {action, nova, 409, device.ErrConflict, "os-stop: status 409: aFault: words of Nova"},
		"429":                         {read, nova, 429, device.ErrUnreachable, "read it: status 429: busy: aFault: words of Nova"},
		"500":                         {action, nova, 500, device.ErrUnreachable, "os-stop: status 500: aFault: words of Nova"},
		"a page":                      {read, "<html>", 200, device.ErrUnsupported, "read it: the answer is not what the API has: invalid character '<' looking for beginning of value"},
		"no server":                   {read, "{}", 200, device.ErrUnsupported, "read it: the answer has no ID"},
		"no token":                    {login, "{}", 201, device.ErrUnsupported, "get a token: the answer has none; is it Keystone's version 3?"},
		"Keystone is busy":            {login, "", 503, device.ErrUnreachable, "get a token: status 503: busy"},
		"no such project":             {login, `{"error":{"title":"Unauthorized","message":"no"}}`, 401, device.ErrDenied, "get a token: status 401: Unauthorized: no"},
		"a secret in an answer (S29)": {read, `{"x":{"message":"` + password + token + `"}}`, 403, device.ErrDenied, "read it: status 403: x: (redacted)(redacted)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Answer(tc.request, resttest.Always(tc.status, tc.body))
			err := dial(t, s.URL, nil).Off(t.Context())
			if d := cmp.Diff(tc.kind.Error()+at+tc.text, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
			if n := s.Sent(action); n > 1 {
				t.Errorf("os-stop was sent %d times", n)
			}
		})
	}
}

// TestCatalog: which Nova is asked, and that the token goes nowhere without TLS.
func TestCatalog(t *testing.T) {
	compute := func(kv ...string) []map[string]any {
		var all []map[string]string
		for i := 0; i < len(kv); i += 2 {
			all = append(all, map[string]string{"interface": "public", "region": kv[i], "url": kv[i+1]})
		}
		return []map[string]any{{"type": "compute", "endpoints": all}}
	}
	for name, tc := range map[string]struct {
		catalog func(url string) []map[string]any
		region  string
		err     string
	}{
		"one region":         {catalog: func(url string) []map[string]any { return compute("one", url) }},
		"two, and one named": {catalog: func(url string) []map[string]any { return compute("two", "https://192.0.2.1", "one", url) }, region: "one"},
		"two":                {catalog: func(url string) []map[string]any { return compute("two", "https://192.0.2.1", "one", url) }, err: "device does not know this machine" + at + "the catalog has compute services in several regions; name one of them by region"},
		"another":            {catalog: func(url string) []map[string]any { return compute("one", url) }, region: "two", err: "device does not know this machine" + at + `the catalog has no compute service in region "two" for project cluster`},
		"none":               {catalog: func(string) []map[string]any { return nil }, err: "device does not know this machine" + at + `the catalog has no compute service in region "" for project cluster`},
		"without TLS":        {catalog: func(string) []map[string]any { return compute("one", "http://nova.example") }, err: "device does not support this" + at + "the catalog's compute URL is not an https URL; without TLS anybody can say that a machine is off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.catalog = tc.catalog(s.URL + "/compute/v2.1")
			_, err := dial(t, s.URL, map[string]string{"region": tc.region}).State(t.Context())
			if d := cmp.Diff(tc.err, devicetest.Words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

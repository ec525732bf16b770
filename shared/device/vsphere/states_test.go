package vsphere_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
)

const (
	powerOff = "PowerOffVM_Task"
	powerOn  = "PowerOnVM_Task"
)

// commands are what of the calls would have an effect.
func (s *served) sent() []string {
	var out []string
	for _, name := range s.heard() {
		if strings.HasSuffix(name, "_Task") {
			out = append(out, name)
		}
	}
	return out
}

// TestStates: whether vCenter's answer counts in each state of machine and host.
func TestStates(t *testing.T) {
	const (
		on, off, suspended = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended
		away               = "device unreachable: %s: "
		memory             = "; what is known of it is a memory"
	)
	for name, tc := range map[string]struct {
		power types.VirtualMachinePowerState
		vm    types.VirtualMachineConnectionState
		host  types.HostSystemConnectionState
		want  device.Power
		err   string
		// off and on are what is sent, or an error.
		off, on string
	}{
		"on":                             {power: on, want: device.On, off: powerOff},
		"off gets no command (S9)":       {power: off, want: device.Off, on: powerOn},
		"suspended goes on where it was": {power: suspended, want: device.On, off: powerOff, on: "device refused in its present state: %s: machine %s is suspended: it would go on where it was, with what it had in memory; power it off first"},
		"off by a host that does not respond (S2)": {power: off, host: "notResponding", err: away + "host %s of machine %s is notResponding; what is known of the machine is a memory"},
		"off by a host that was disconnected (S2)": {power: off, host: "disconnected", err: away + "host %s of machine %s is disconnected; what is known of the machine is a memory"},
		"on by a host that does not respond":       {power: on, host: "notResponding", err: away + "host %s of machine %s is notResponding; what is known of the machine is a memory"},
		"off and disconnected (S2)":                {power: off, vm: "disconnected", err: away + "machine %s is disconnected" + memory, off: powerOff, on: powerOn},
		"off and inaccessible (S2)":                {power: off, vm: "inaccessible", err: away + "machine %s is inaccessible" + memory, off: powerOff, on: powerOn},
		"off and orphaned (S2)":                    {power: off, vm: "orphaned", err: away + "machine %s is orphaned" + memory, off: powerOff, on: powerOn},
		"a state that nobody knows":                {power: "poweredDown", err: "device does not support this: %s: machine %s is in power state poweredDown, which this build does not know", off: powerOff, on: powerOn},
		"a host in a state that nobody knows (S2)": {power: off, host: "napping", err: away + "host %s of machine %s is napping; what is known of the machine is a memory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			put := func() {
				s.set(s.vm, "runtime.powerState", tc.power)
				if tc.vm != "" {
					s.set(s.vm, "runtime.connectionState", tc.vm)
				}
				if tc.host != "" {
					s.set(s.esx(), "runtime.connectionState", tc.host)
				}
			}
			put()
			at, vm := s.host+":"+s.port, s.vm.Self.Value
			words := func(form string) string {
				if strings.Contains(form, "host %s") {
					return fmt.Sprintf(form, at, s.esx().Reference().Value, vm)
				}
				if strings.Contains(form, "%s") {
					return fmt.Sprintf(form, at, vm)
				}
				return form
			}
			d := s.dial(nil)
			r, err := d.State(t.Context())
			want := device.Reading{}
			if tc.err == "" {
				want = device.Reading{Power: tc.want, Identity: uuid}
			}
			if diff := cmp.Diff([]any{want, words(tc.err), []string(nil)}, []any{r, devicetest.Words(err), s.sent()}); diff != "" {
				t.Error(diff)
			}
			did := func(err error) string {
				sent := s.sent()
				if len(sent) > 1 {
					t.Errorf("sent %q", sent)
				}
				if len(sent) == 1 {
					return sent[0] // what becomes of it in such a state is the simulator's
				}
				return devicetest.Words(err)
			}
			got := [2]string{did(d.Off(t.Context()))}
			put()
			got[1] = did(d.On(t.Context()))
			expect := [2]string{words(tc.off), words(tc.on)}
			for i := range expect {
				if tc.host != "" { // nobody would know when it is done
					expect[i] = words(tc.err)
				}
			}
			if diff := cmp.Diff(expect, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheOneMachine: which one is switched, and what is refused (S11).
func TestTheOneMachine(t *testing.T) {
	const nobody = "ffeeddcc-bbaa-9988-7766-554433221100"
	for name, tc := range map[string]struct {
		params map[string]string
		change func(*served)
		text   string
	}{
		"by its BIOS UUID":                     {},
		"in its datacenter":                    {params: map[string]string{"datacenter": "/DC0"}},
		"in a datacenter that there isn't":     {params: map[string]string{"datacenter": "/DC7"}, text: `there is no datacenter "/DC7" that this user may see`},
		"in a folder that is none":             {params: map[string]string{"datacenter": "/DC0/vm"}, text: `there is no datacenter "/DC0/vm" that this user may see`},
		"a UUID that nobody has":               {params: map[string]string{"uuid": nobody}, text: "no machine that this user may see has the BIOS UUID " + nobody},
		"a UUID that two have, such as clones": {change: func(s *served) { s.set(s.second(), "config.uuid", uuid) }, text: "2 machines have the BIOS UUID " + uuid + "; give each its own"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			if tc.change != nil {
				tc.change(s)
			}
			want, sent := "", []string{powerOff}
			if tc.text != "" {
				want, sent = "device does not know this machine: "+s.host+":"+s.port+": "+tc.text, nil
			}
			d := s.dial(tc.params)
			_, err := d.State(t.Context())
			oerr := d.Off(t.Context())
			if diff := cmp.Diff([]any{want, want, sent}, []any{devicetest.Words(err), devicetest.Words(oerr), s.sent()}); diff != "" {
				t.Error(diff)
			}
			if on := s.second().(*simulator.VirtualMachine).Runtime.PowerState; on != types.VirtualMachinePowerStatePoweredOn {
				t.Error("the other machine is", on)
			}
		})
	}
}

// second is the machine that isn't meant.
func (s *served) second() interface {
	Reference() types.ManagedObjectReference
} {
	for _, vm := range s.model.Map().All("VirtualMachine") {
		if vm.Reference() != s.vm.Self {
			return s.model.Map().Get(vm.Reference())
		}
	}
	s.t.Fatal("there is no second machine")
	return nil
}

// TestErrors: each fault in the one error that tells an operator what to correct, with one
// command and no more.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		no   types.BaseMethodFault
		kind error
	}{
		"no privilege":                 {&types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOff"}, device.ErrDenied},
		"a session that has ended":     {&types.NotAuthenticated{}, device.ErrDenied},
		"a machine that was removed":   {&types.ManagedObjectNotFound{Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}}, device.ErrUnknown},
		"a host that went away":        {&types.HostNotConnected{}, device.ErrUnreachable},
		"a task of somebody else":      {&types.TaskInProgress{}, device.ErrConflict},
		"a state that does not fit":    {&types.InvalidPowerState{ExistingState: "suspended"}, device.ErrConflict},
		"disabled by another program":  {&types.MethodDisabled{}, device.ErrConflict},
		"a licence that only reads":    {&types.RestrictedVersion{}, device.ErrUnsupported},
		"a machine that can't do this": {&types.NotSupported{}, device.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.refuse[powerOff] = tc.no
			err := s.dial(nil).Off(t.Context())
			if d := cmp.Diff([]string{powerOff}, s.sent()); d != "" || !errors.Is(err, tc.kind) {
				t.Errorf("%v, want %v; %s", err, tc.kind, d)
			}
			if r, err := s.dial(nil).State(t.Context()); err != nil || r.Power != device.On {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestNotSOAP is about answers that are none of vSphere's.
func TestNotSOAP(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		kind   error
	}{
		"a page":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>off</html>")) }, device.ErrUnsupported},
		"nothing":      {func(http.ResponseWriter, *http.Request) {}, device.ErrUnreachable},
		"no such path": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, device.ErrUnsupported},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
		}, device.ErrUnsupported},
		"a broken balancer": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, device.ErrUnreachable},
		"a broken server":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 500) }, device.ErrUnreachable},
		"another answer": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<Envelope><Body><LoginResponse/></Body></Envelope>"))
		}, device.ErrUnsupported},
		"elements in elements": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("<a>", 1<<19))) }, device.ErrUnsupported},
		"busy":                 {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(503) }, device.ErrUnreachable},
		"words without end":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) }, device.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.answer = tc.answer
			r, err := s.dial(nil).State(t.Context())
			if !errors.Is(err, tc.kind) || r != (device.Reading{}) {
				t.Errorf("%+v, %v, want %v", r, err, tc.kind)
			}
		})
	}
}

// TestMarkup: what a parameter holds is text, and no part of a request.
func TestMarkup(t *testing.T) {
	const word = `a<b>&"'</password>`
	s := serve(t)
	s.word = word
	if r, err := s.dial(map[string]string{"password": word}).State(t.Context()); err != nil || r.Power != device.On {
		t.Error(r, err)
	}
	_, err := s.dial(map[string]string{"password": word, "datacenter": "</inventoryPath><x>"}).State(t.Context())
	if !errors.Is(err, device.ErrUnknown) {
		t.Error(err)
	}
}

// TestSessionsEnd: every call logs out, also one that fails.
func TestSessionsEnd(t *testing.T) {
	s := serve(t)
	d := s.dial(nil)
	for name, do := range map[string]func() error{
		"state": func() error { _, err := d.State(t.Context()); return err },
		"off":   func() error { return d.Off(t.Context()) },
		"on":    func() error { return d.On(t.Context()) },
	} {
		if err := do(); err != nil {
			t.Error(name, err)
		}
		called := s.heard()
		if len(called) == 0 || called[len(called)-1] != "Logout" {
			t.Errorf("%s ends with %q", name, called)
		}
	}
}

// TestCertificates: who answers is believed only if it is who was meant.
func TestCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*x509.Certificate)
		name   string
		params map[string]string
		want   string
	}{
		"signed by a private CA":            {name: "127.0.0.1"},
		"no CA given":                       {name: "127.0.0.1", params: map[string]string{"ca": ""}, want: "its certificate is signed by nobody who is trusted; give the signer's certificate in ca"},
		"for another name":                  {name: "vcenter-8.example", want: "its certificate is for another name: "},
		"expired":                           {name: "127.0.0.1", change: trusttest.Expired, want: "its certificate has expired or is not yet valid: "},
		"whatever it is, by explicit words": {name: "vcenter-8.example", params: map[string]string{"ca": "", "ssl_insecure": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t)
			s.listen(s.ca.Issue(t, tc.change, tc.name))
			r, err := s.dial(tc.params).State(t.Context())
			switch {
			case tc.want == "" && (err != nil || r.Power != device.On):
				t.Errorf("%+v, %v", r, err)
			case tc.want != "" && (!errors.Is(err, device.ErrUnreachable) || !strings.Contains(devicetest.Words(err), tc.want)):
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

package vsphere_test

import (
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
	"github.com/nodefence/nodefence/shared/device/vsphere"
)

const (
	user     = "fence@vsphere.local"
	password = "hunter-2-hunter"
	changed  = "hunter-3-hunter"
	uuid     = "00112233-4455-6677-8899-aabbccddeeff"
)

// served is a vCenter of govmomi's simulator with two machines, of which one is
// meant. What stands around the simulator is ours, and only makes it fail.
type served struct {
	t          testing.TB
	model      *simulator.Model
	vm         *simulator.VirtualMachine
	host, port string
	ca         *trusttest.CA
	ended      chan struct{}

	mu    sync.Mutex
	fault string
	word  string
	// refuse is by method.
	refuse map[string]types.BaseMethodFault
	// before is called by method, ahead of the simulator.
	before map[string]func()
	// answer is in place of it.
	answer http.HandlerFunc
	// pretends is that what the machine says of its power is not so.
	pretends bool
	commands []string
	called   []string
}

// serve ends with t.
func serve(t testing.TB) *served {
	t.Helper()
	s := prepare(t)
	s.listen(s.ca.Issue(t, nil, "127.0.0.1"))
	return s
}

// prepare is all but the listening.
func prepare(t testing.TB) *served {
	t.Helper()
	model := simulator.VPX()
	model.Host, model.Cluster, model.ClusterHost, model.Machine, model.Datastore, model.Portgroup = 1, 0, 0, 2, 1, 0
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Remove)
	s := &served{
		t: t, model: model, ca: trusttest.New(t), ended: make(chan struct{}), word: password,
		refuse: map[string]types.BaseMethodFault{}, before: map[string]func(){},
	}
	s.vm = model.Map().Any("VirtualMachine").(*simulator.VirtualMachine)
	s.set(s.vm, "config.uuid", uuid)
	model.Map().Put(&machine{s.vm, s})
	model.Service.RegisterSDK(model.Map())
	model.Service.Listen = &url.URL{User: url.User("somebody")} // or any password would do
	model.Map().SessionManager().ValidLogin = func(l *types.Login) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return l.UserName == user && l.Password == s.word
	}
	model.Map().Handler = s.handle
	return s
}

func (s *served) listen(cert tls.Certificate) {
	s.t.Helper()
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that don't trust it are what is tested
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	s.t.Cleanup(func() { close(s.ended); srv.Close() })
	var err error
	if s.host, s.port, err = net.SplitHostPort(srv.Listener.Addr().String()); err != nil {
		s.t.Fatal(err)
	}
}

// set changes a property of an object of the simulator's.
func (s *served) set(obj mo.Reference, name string, value any) {
	s.model.Map().AtomicUpdate(s.model.Service.Context, obj, []types.PropertyChange{{Name: name, Val: value}})
}

// esx is the host of the machine.
func (s *served) esx() mo.Reference { return s.model.Map().Get(*s.vm.Runtime.Host) }

func (s *served) setFault(fault string) {
	s.mu.Lock()
	lied := s.pretends
	s.fault, s.pretends, s.word = fault, false, password
	delete(s.refuse, "PowerOffVM_Task")
	switch fault {
	case devicetest.Refuse:
		s.refuse["PowerOffVM_Task"] = &types.TaskInProgress{}
	case devicetest.WrongPassword:
		s.word = changed
	}
	s.mu.Unlock()
	if lied {
		s.set(s.vm, "runtime.powerState", types.VirtualMachinePowerStatePoweredOn)
	}
	connection := types.HostSystemConnectionStateConnected
	if fault == devicetest.Mute {
		connection = types.HostSystemConnectionStateNotResponding
	}
	s.set(s.esx(), "runtime.connectionState", connection)
}

func (s *served) is(faults ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(faults, s.fault)
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer, fault := s.answer, s.fault
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case fault == devicetest.Hang:
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
		panic(http.ErrAbortHandler) // or it would be a 200 to who is just hanging up
	case fault == devicetest.ResetConnection:
		text, _ := io.ReadAll(r.Body) // the simulator says what is wrong with it
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		if !strings.Contains(string(text), "PowerOffVM_Task") {
			s.model.Service.ServeSDK(w, r)
			return
		}
		s.model.Service.ServeSDK(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		s.model.Service.ServeSDK(w, r)
	}
}

// handle sees every call, and may take the place of who it was for.
func (s *served) handle(_ *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	s.mu.Lock()
	s.called = append(s.called, m.Name)
	no, before := s.refuse[m.Name], s.before[m.Name]
	words := map[string]string{
		"PowerOffVM_Task": "off", "PowerOnVM_Task": "on", "ResetVM_Task": "reset", "ShutdownGuest": "shutdown",
		"RebootGuest": "reboot", "SuspendVM_Task": "suspend", "TerminateVM": "terminate",
	}
	if word := words[m.Name]; word != "" && no == nil {
		s.commands = append(s.commands, word)
	}
	s.mu.Unlock()
	if before != nil {
		before()
	}
	if no != nil {
		return nil, no
	}
	return nil, nil
}

// machine is the simulator's, and with a fault it takes a power-off and has its
// task run for as long as the test does.
type machine struct {
	*simulator.VirtualMachine
	s *served
}

// PowerOffVMTask is called by this name.
func (v *machine) PowerOffVMTask(ctx *simulator.Context, r *types.PowerOffVM_Task) soap.HasFault {
	if !v.s.is(devicetest.AcceptAndIgnore, devicetest.Slow, devicetest.Early, devicetest.Lie) {
		return v.VirtualMachine.PowerOffVMTask(ctx, r)
	}
	if v.s.is(devicetest.Early, devicetest.Lie) {
		v.s.mu.Lock()
		v.s.pretends = true
		v.s.mu.Unlock()
		ctx.Map.AtomicUpdate(ctx, v.VirtualMachine, []types.PropertyChange{ // under the lock that this call holds
			{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff},
		})
	}
	// About nothing, or nobody could read the machine while it runs.
	nothing := types.ManagedObjectReference{Type: "Nothing", Value: "nothing"}
	task := simulator.CreateTask(nothing, "powerOff", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-v.s.ended
		return nil, nil
	})
	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: task.Run(ctx)}}
}

// settle does what a slow or early off still has to do.
func (s *served) settle() {
	s.mu.Lock()
	s.pretends = false
	s.mu.Unlock()
	s.set(s.vm, "runtime.powerState", types.VirtualMachinePowerStatePoweredOff)
}

func (s *served) on() bool {
	on := false
	s.model.Map().WithLock(simulator.NewContext(), s.vm, func() {
		on = s.vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return on || s.pretends
}

func (s *served) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// heard are the methods since it was asked last.
func (s *served) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	called := s.called
	s.called = nil
	return called
}

func (s *served) dial(more map[string]string) device.Driver {
	s.t.Helper()
	p := map[string]string{"server": s.host, "ipport": s.port, "uuid": uuid, "username": user, "password": password, "ca": s.ca.PEM}
	maps.Copy(p, more)
	d, err := vsphere.Kind().Open(p)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

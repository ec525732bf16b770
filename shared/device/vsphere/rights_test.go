package vsphere_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// rights are the simulator's, which grants all, with some taken away.
type rights struct {
	*simulator.AuthorizationManager
	s     *served
	lacks []string
	// mute tells of no privilege.
	mute bool
}

func (r *rights) HasPrivilegeOnEntities(ctx *simulator.Context, req *types.HasPrivilegeOnEntities) soap.HasFault {
	all := r.AuthorizationManager.HasPrivilegeOnEntities(req).(*methods.HasPrivilegeOnEntitiesBody)
	if req.SessionId != ctx.Session.Key || !slices.Equal(req.Entity, []types.ManagedObjectReference{r.s.vm.Self}) {
		r.s.t.Errorf("asked of session %q on %v", req.SessionId, req.Entity)
	}
	for i := range all.Res.Returnval {
		of := &all.Res.Returnval[i]
		for k := range of.PrivAvailability {
			of.PrivAvailability[k].IsGranted = !slices.Contains(r.lacks, of.PrivAvailability[k].PrivId)
		}
		if r.mute {
			of.PrivAvailability = nil
		}
	}
	return all
}

// TestNoSecondLogin: after a refused login the driver does not try again to ask for rights,
// because a vCenter that locks accounts counts the second try.
func TestNoSecondLogin(t *testing.T) {
	s := serve(t)
	s.setFault(devicetest.WrongPassword)
	d := s.dial(nil)
	_, state := d.State(t.Context())
	_, rights := d.(device.Rights).Lacking(t.Context())
	if !errors.Is(state, device.ErrDenied) || !errors.Is(rights, device.ErrDenied) {
		t.Errorf("%v, %v", state, rights)
	}
	logins := slices.DeleteFunc(s.heard(), func(m string) bool { return m != "Login" })
	if d := cmp.Diff([]string{"Login"}, logins); d != "" {
		t.Error(d)
	}
}

// TestRights are asked for on the machine, all at once, and nothing is switched.
func TestRights(t *testing.T) {
	const off, on = "VirtualMachine.Interact.PowerOff", "VirtualMachine.Interact.PowerOn"
	for name, tc := range map[string]struct {
		change func(s *served, r *rights)
		want   []string
		err    error
	}{
		"all":                         {func(*served, *rights) {}, []string{}, nil},
		"to read":                     {func(_ *served, r *rights) { r.lacks = []string{on, off} }, []string{off, on}, nil},
		"all but an on":               {func(_ *served, r *rights) { r.lacks = []string{on} }, []string{on}, nil},
		"it is not told":              {func(_ *served, r *rights) { r.mute = true }, nil, device.ErrUnsupported},
		"it may not be asked":         {func(s *served, _ *rights) { s.refuse["HasPrivilegeOnEntities"] = &types.NoPermission{} }, nil, device.ErrDenied},
		"it is an API that can't say": {func(s *served, _ *rights) { s.refuse["HasPrivilegeOnEntities"] = &types.MethodNotFound{} }, nil, device.ErrUnsupported},
		"who is not let in":           {func(s *served, _ *rights) { s.setFault(devicetest.WrongPassword) }, nil, device.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			r := &rights{AuthorizationManager: s.model.Map().Get(*s.model.ServiceContent.AuthorizationManager).(*simulator.AuthorizationManager), s: s}
			s.model.Map().Put(r)
			tc.change(s, r)
			got, err := s.dial(nil).(device.Rights).Lacking(t.Context())
			if d := cmp.Diff(tc.want, got); d != "" || !errors.Is(err, tc.err) || len(s.told()) > 0 || !s.on() {
				t.Errorf("%v %s %q", err, d, s.told())
			}
		})
	}
}

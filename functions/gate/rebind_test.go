package gate

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// TestDevicesAreResolvedAnew each time that a slot is asked for, a retry included: what was
// mended counts. What was switched off stays with the device that did it (S11, S12).
func TestDevicesAreResolvedAnew(t *testing.T) {
	old := api.Binding{Name: "power-1", Role: api.RolePower, Driver: "ipmi", Address: "192.0.2.2:623", Params: map[string]string{"username": "a"}}
	mended, again := old, old
	mended.Address, again.Params = "192.0.2.1:623", map[string]string{"username": "b"}
	wrong := &config.Refused{Err: errors.New("ConfigMap x: no address")}
	shared := old
	shared.IdentityFault = "is shared"
	one := func(b api.Binding) []api.Binding { return []api.Binding{b} }
	cut := func(f *api.NodeFence) { f.Status.Power.SwitchedByUs = true }
	stored := func(f *api.NodeFence) {
		f.Status.Isolation = []api.IsolationRecord{{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}}}
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		bound  []api.Binding
		err    error
		want   []api.Binding
		says   string
	}{
		"its address is mended":                          {nil, one(mended), nil, one(mended), ""},
		"it is wrong by now":                             {nil, nil, wrong, nil, wrong.Error()},
		"its address is another, and we have cut it":     {cut, one(mended), nil, one(old), ""},
		"its user is another, and we have cut it":        {cut, one(again), nil, one(again), ""},
		"its identity is another node's too":             {nil, one(shared), nil, one(shared), ""},
		"its identity is so by now, and we have cut it":  {cut, one(shared), nil, one(old), ""}, // S25
		"it is wrong by now, and we have cut it":         {cut, nil, wrong, one(old), ""},
		"its address is another, and its storage is cut": {stored, one(mended), nil, one(old), ""},
		"its address is mended, and no device is read":   {func(f *api.NodeFence) { f.Status.Decision.Settings.Action = api.ActionIsolate }, one(mended), nil, one(old), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1, Decision: api.Decision{Devices: one(old), ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot}}}}}
			f.Status.FenceNumber = 1
			if c.change != nil {
				c.change(f)
			}
			g := &Gate{Bind: func(context.Context, *corev1.Node) (*config.Bound, error) {
				return &config.Bound{Devices: c.bound, Over: func(*api.ResolvedPolicy) {}}, c.err
			}}
			if err := g.rebind(t.Context(), &corev1.Node{}, f); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, f.Status.Decision.Devices); d != "" || f.Status.Decision.DevicesError != c.says {
				t.Errorf("%q %s", f.Status.Decision.DevicesError, d)
			}
		})
	}
}

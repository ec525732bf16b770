package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestLeaveOff: a machine is switched on if both the policy and the node's own
// configuration want it, and only if it was us who cut it (S12).
func TestLeaveOff(t *testing.T) {
	for name, tc := range map[string]struct {
		action  api.FenceAction
		binding []api.Binding
		cut     bool
		want    bool
	}{
		"both want it":                {api.ActionReboot, []api.Binding{{}}, true, true},
		"no binding says otherwise":   {api.ActionReboot, nil, true, true},
		"it was not us":               {api.ActionReboot, []api.Binding{{}}, false, false},
		"the policy leaves it off":    {api.ActionOff, []api.Binding{{}}, true, false},
		"the ConfigMap leaves it off": {api.ActionReboot, []api.Binding{{LeaveOff: true}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := fence.CoreOf(
				&api.Decision{Devices: api.Named(tc.binding...), ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: tc.action, PerNode: (*api.PerNode)(nil).Settings()}}},
				api.NodeFenceStatus{Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: tc.cut}}}, observed.Look{}, time.Time{},
			)
			if got := d.OwesPowerOn(); got != tc.want {
				t.Errorf("owes a power-on: %v, want %v", got, tc.want)
			}
		})
	}
}

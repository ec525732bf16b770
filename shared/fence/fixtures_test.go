package fence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var (
	walkStart   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	walkRenewal = 4 * time.Second
	// walkLead is as long as a settle over a fresh Lease, so that it needs no states of
	// its own.
	walkLead = 4800 * time.Millisecond
)

func number(n int) *intstr.IntOrString { v := intstr.FromInt32(int32(n)); return &v }

func percent(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }

// perDay allows so many cuts of one node.
func perDay(n int) *api.PerNode { cuts := int32(n); return &api.PerNode{CutsPerDay: &cuts} }

func opens(start string, lasts time.Duration, zone string, days ...api.Weekday) api.PauseWindowRule {
	return api.PauseWindowRule{Start: start, Duration: *api.DurationOf(lasts), TimeZone: &zone, Days: days}
}

// openNow is a window that is open while the walk's clock begins.
var openNow = []Windows{{Policy: "p", Windows: []api.PauseWindowRule{opens("00:00", time.Hour, "")}}}

// cutsOff: the call that is claimed is to a device of the isolation.
func cutsOff(st *api.NodeFenceStatus) bool {
	if st.Claim == nil {
		return false
	}
	b := st.Decision.Device(st.Claim.Device)
	return b != nil && b.Role != api.RolePower
}

// cutting are these devices of the isolation in place of a decision's own.
func cutting(d *api.Decision, cuts ...api.Binding) {
	d.Devices = api.Named(slices.Concat(d.PowerLevels(), cuts)...)
}

// powered are these levels in place of a decision's own.
func powered(d *api.Decision, levels ...api.Binding) {
	d.Devices = api.Named(slices.Concat(levels, d.Isolation())...)
}

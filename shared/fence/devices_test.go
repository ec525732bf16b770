package fence

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// powered are these levels in place of a decision's own.
func powered(d *api.Decision, levels ...api.Binding) {
	d.Devices = api.Named(slices.Concat(levels, d.Isolation())...)
}

// cutting are these devices of the isolation in place of a decision's own.
func cutting(d *api.Decision, cuts ...api.Binding) {
	d.Devices = api.Named(slices.Concat(d.PowerLevels(), cuts)...)
}

// cutsOff: the call that is claimed is to a device of the isolation.
func cutsOff(st *api.NodeFenceStatus) bool {
	if st.Claim == nil {
		return false
	}
	b := st.Decision.Device(st.Claim.Device)
	return b != nil && b.Role != api.RolePower
}

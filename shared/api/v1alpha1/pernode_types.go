package v1alpha1

// PerNode bounds how often one machine's power is cut.
type PerNode struct {
	// cutsPerDay is how many times in 24 hours one node's power may be cut, from 1 to 100; 3 by
	// default. After that it is not fenced until an older cut is a day old. Of all policies that
	// select the node, the smallest number holds.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	CutsPerDay *int32 `json:"cutsPerDay,omitempty"`
	// onLast LeaveOff, the default, releases the work of a machine whose power was cut for
	// the last time that cutsPerDay allows, and leaves it off until a person switches it
	// on or asks for that (spec.requests.retry of its NodeFence). Hold switches it on
	// again: if it fails once more within the day it is not fenced, and its work stays
	// bound to it.
	// +kubebuilder:default=LeaveOff
	// +optional
	OnLast *OnLast `json:"onLast,omitempty"`
}

// PerNodeSettings are PerNode of all policies that select a node, with every default in
// its place.
type PerNodeSettings struct {
	// cutsPerDay is how many times in 24 hours the node's power may be cut: the smallest
	// number of all policies that select it.
	// +required
	CutsPerDay int32 `json:"cutsPerDay"`
	// onLast says what happens to the machine after the last cut of a day: LeaveOff releases its
	// work and leaves it off, Hold switches it on again.
	// +required
	OnLast OnLast `json:"onLast"`
}

// Settings are what it says; nil says the defaults.
func (p *PerNode) Settings() PerNodeSettings {
	if p == nil {
		p = &PerNode{}
	}
	return PerNodeSettings{CutsPerDay: or(p.CutsPerDay, 3), OnLast: or(p.OnLast, OnLastLeaveOff)}
}

// Stricter is the one with fewer cuts; of two with as many, the one that leaves off.
func (p PerNodeSettings) Stricter(o PerNodeSettings) PerNodeSettings {
	if o.CutsPerDay < p.CutsPerDay || o.CutsPerDay == p.CutsPerDay && o.OnLast == OnLastLeaveOff {
		return o
	}
	return p
}

// OnLast says what happens to a machine whose power was cut for the last time of a day.
// +kubebuilder:validation:Enum=LeaveOff;Hold
type OnLast string

// What happens to it.
const (
	OnLastLeaveOff OnLast = "LeaveOff"
	OnLastHold     OnLast = "Hold"
)

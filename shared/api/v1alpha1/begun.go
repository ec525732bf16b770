package v1alpha1

import "slices"

// Begun tells whether power was cut for this fence, or its work released: from then on it runs to
// its end, and a brake only stops further Offs (S25).
func (st *NodeFenceStatus) Begun() bool {
	return st.Power.SwitchedByUs || st.Release.StartedAt != nil
}

// Undone: what the fence has placed is taken back, access first, and the record is closed then. One
// that is only sent back to the gate goes on, and waits there.
func (st *NodeFenceStatus) Undone() bool {
	switch then := st.Restore; {
	case st.Outcome == SentBack:
		return false
	case st.Phase == Restoring:
		return st.Outcome != "" || then == nil || then.Then == Recovering
	}
	return st.Phase == Recovering
}

// MayCutAccess tells whether what comes next in Isolating may cut off storage or network.
func (st *NodeFenceStatus) MayCutAccess() bool {
	return slices.ContainsFunc(st.Isolation, func(r IsolationRecord) bool {
		return r.OffAt == nil && r.LastRead != nil && r.LastRead.State == PoweredOn
	})
}

// ReadsFirst tells whether the machine is being read before its first Off. An Off may be decided on
// by what it reads.
func (st *NodeFenceStatus) ReadsFirst() bool {
	c := st.Claim
	return c != nil && c.Call == CallRead && st.Power.OffAt == nil
}

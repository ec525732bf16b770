package v1alpha1

// Begun tells whether power was cut for this fence, or its work released: from then on it runs to
// its end, and a brake only stops further Offs (S25).
func (st *NodeFenceStatus) Begun() bool {
	return st.Power.SwitchedByUs || st.Release.StartedAt != nil
}

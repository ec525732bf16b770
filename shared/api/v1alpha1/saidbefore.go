package v1alpha1

import "slices"

// MaxSaidBefore bounds the conditions that a record keeps from before a boot.
const MaxSaidBefore = 32

// SaidCondition is a condition of the Node as its monitor wrote it last before the machine was off.
type SaidCondition struct {
	// type of the condition, such as KernelDeadlock.
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type string `json:"type"`
	// status that it had: True, False or Unknown.
	// +kubebuilder:validation:MaxLength=16
	// +required
	Status string `json:"status"`
	// mark is made of the condition's own transition and heartbeat times. It is compared only with
	// the mark of another look (S30): as long as the two are equal, nobody has written the condition
	// anew.
	// +kubebuilder:validation:MaxLength=128
	// +required
	Mark string `json:"mark"`
}

// SaidBeforeBoot reports whether a condition of the Node stands as it stood when the machine was off: it
// speaks of the boot before.
func (st *NodeFenceStatus) SaidBeforeBoot(c SaidCondition) bool {
	return slices.Contains(st.SaidBefore, c)
}

// KeepSaid notes how conditions stand while the machine is off. The last word of each type is kept.
func (st *NodeFenceStatus) KeepSaid(all []SaidCondition) {
	kept := slices.Clone(st.SaidBefore)
	for _, c := range all {
		if i := slices.IndexFunc(kept, func(was SaidCondition) bool { return was.Type == c.Type }); i >= 0 {
			kept[i] = c
		} else if len(kept) < MaxSaidBefore {
			kept = append(kept, c)
		}
	}
	st.SaidBefore = kept
}

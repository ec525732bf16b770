package view

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// DrillTable is when each step of a drill was done, and how long after it was asked for.
func DrillTable(asked time.Time, f *api.NodeFence) *metav1.Table {
	t := table("STEP", "AT", "AFTER")
	for _, s := range steps(asked, f) {
		if s.at == nil {
			add(t, s.name, "never", "")
			continue
		}
		add(t, s.name, stamp(s.at.Time), s.at.Sub(asked).Round(100*time.Millisecond).String())
	}
	return t
}

// step is one step of a fence, and when it was done; nil if it was not.
type step struct {
	name string
	at   *api.Time
}

// steps are those of a whole fence, in order. Power.OffAt is gone by the end of a fence, once no Off of it
// can take effect any more; Power.CutAt stays.
func steps(asked time.Time, f *api.NodeFence) []step {
	st := &f.Status
	begun := metav1.NewMicroTime(asked)
	var off *api.Time
	if st.Power.OffCalls > 0 { // a cut of storage or network sets cutAt too
		off = st.Power.CutAt
	}
	all := []step{{"asked", &begun}, {"opened", st.OpenedAt}, {"power-off sent", off}, {"proven off", nil}, {"released", st.Release.DoneAt}, {"power-on sent", st.Power.OnAt}, {"back", nil}}
	if st.Proof != nil {
		all[3].at = &st.Proof.At
	}
	if st.Outcome == api.Recovered {
		all[6].at = st.PhaseSince
	}
	return all
}

// DrillFailed says why a drill that is over has failed; nil if every step was done.
func DrillFailed(f *api.NodeFence) error {
	st := &f.Status
	for _, s := range steps(time.Time{}, f) {
		if s.at == nil {
			return fmt.Errorf("the drill of node %s has failed: never %s; its fence %d ended as %s: %s", f.Spec.NodeName, s.name, st.FenceNumber, st.Outcome, st.Message)
		}
	}
	return nil
}

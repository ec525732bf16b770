package act

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// StaysOff says why the machine is not switched on again if its power is cut once more at that time;
// empty if it is. f is the node's record, nil if it has none. A fence that is not open yet counts as
// the one that a FenceRequest opens now.
func StaysOff(d *api.Decision, f *api.NodeFence, at time.Time) string {
	st := api.NodeFenceStatus{}
	if f != nil {
		st = *f.Status.DeepCopy()
	}
	p := &st.Power
	if f != nil && !f.Open() && st.OpenedAt != nil { // it goes into the past when the next one opens
		closed := metav1.NewMicroTime(at)
		if st.PhaseSince != nil {
			closed = *st.PhaseSince
		}
		st.Past = append(st.Past, api.PastFence{Cuts: p.Cuts, ClosedAt: closed})
		p.Cuts = 0
	}
	if p.CutAt != nil && at.Sub(p.CutAt.Time) >= facts.CutsCount {
		p.Cuts = 0
	}
	now := metav1.NewMicroTime(at)
	p.Cuts, p.CutAt = p.Cuts+1, &now
	return (&facts.Facts{Decision: d, Record: &st, Now: at}).StaysOff()
}

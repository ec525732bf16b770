package gauges

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// unreleased are the phases in which the work of a lost node is not released.
var unreleased = []api.Phase{api.Pending, api.Probing, api.Isolating, api.Fencing, api.Releasing, api.Failed}

// workDownSince is since when the work of a fence's node has been down: since nodefence saw the node not Ready, or its
// object gone; nil where the node lives, and where the work is released. A power cut takes the work down too.
func workDownSince(f *api.NodeFence) (since *api.Time) {
	st := &f.Status
	if st.Release.DoneAt != nil || !slices.Contains(unreleased, f.CurrentPhase()) {
		return nil
	}
	note := func(at *api.Time) {
		if at != nil && (since == nil || at.Before(since)) {
			since = at
		}
	}
	for i := range st.Evidence {
		if e := &st.Evidence[i]; e.Type == api.TriggerNodeMissing || e.Type == api.TriggerNodeCondition && e.Condition == string(corev1.NodeReady) {
			note(&e.Since)
		}
	}
	note(st.Power.CutAt)
	return since
}

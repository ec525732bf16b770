package cleanup

import (
	"testing"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

// TestEvictionsKnowEachHold: no Pod is moved off a node that is held. A policy that is not understood is a brake, and
// nodefence's own node keeps no Pod: the kubelet ends the Pods. Nor does a node whose power cut was refuted: no device is
// asked.
func TestEvictionsKnowEachHold(t *testing.T) {
	moves := func(r hold.Row) bool { return r.Reason == api.OwnMachine || r.Reason == api.CutRefuted }
	brake := func(r hold.Row) bool { return r.Reason == api.PolicyNotUnderstood }
	holdtest.Try(t, func(r hold.Row) bool { return !moves(r) && !brake(r) }, func(c holdtest.Case) api.Reason {
		return api.Reason(leftAlone(c.Resolved(), look.NodeFrom(c.Node, ""), nil))
	})
	for _, c := range holdtest.Cases(t) {
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: c.Node.Name}}
		f.Status.Decision.ResolvedPolicy = c.Resolved()
		b := admission.Against(f, c.Policies, look.NodeFrom(c.Node, ""), &api.FenceLedger{}, fencetest.Start)
		if c.Has(brake) && (b.Hold(fencetest.Start) == "" || b.Why != api.PolicyNotUnderstood) {
			t.Errorf("%s: the brakes are %+v", c.Name(), b)
		}
	}
}

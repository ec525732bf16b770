package open

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
)

// TestAConditionOfTheBootBeforeOpensNoFence: a condition that nobody has written since the machine was off opens no
// second fence of the node. Written anew it does (S3, S26).
func TestAConditionOfTheBootBeforeOpensNoFence(t *testing.T) {
	of := func(heard string) *corev1.Node {
		at, err := time.Parse(time.RFC3339, heard)
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			{Type: "KernelDeadlock", Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(at)},
		}}}
	}
	policies := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, UnhealthyConditions: []api.UnhealthyCondition{{Type: "KernelDeadlock", Status: "True"}},
	}}}
	before := of("2026-01-01T00:00:00Z")
	last := &api.NodeFence{}
	last.Status.Phase, last.Status.FenceNumber, last.Status.Decision.NodeUID = api.Finished, 1, "u"
	last.Status.KeepSaid([]api.SaidCondition{look.NodeFrom(before, "").Conditions[1].Said()})
	for name, c := range map[string]struct {
		node *corev1.Node
		last *api.NodeFence
		want bool
	}{
		"no fence before":    {before, nil, true},
		"as it stood":        {before, last, false},
		"written anew since": {of("2026-01-01T00:05:00Z"), last, true},
	} {
		dec, why := decideOpening(c.node, policies, c.last, earlyProbe{}, startup{})
		if got := dec != nil; got != c.want {
			t.Errorf("%s: opens %v (%s)", name, got, why)
		}
	}
}

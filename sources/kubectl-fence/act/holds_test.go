package act

import (
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

// TestAskKnowsEachHold: no fence is asked for of a node that the policies leave alone, or whose cut was refuted. What ends by itself, and what
// the policy says of modes, is no reason not to ask. Whether a policy is understood nodefence says, and not the
// plugin, which may be older.
func TestAskKnowsEachHold(t *testing.T) {
	knows := func(r hold.Row) bool { return r.Permanent && r.Reason != api.PolicyNotUnderstood }
	holdtest.Try(t, knows, func(c holdtest.Case) api.Reason {
		r, n := c.Resolved(), look.NodeFrom(c.Node, "")
		_, _, err := Ask(c.Node.Name, "ns", ann, &r, n, nil, c.Record)
		for _, h := range hold.All(c.Input(n), hold.ByPolicy, hold.ByNode, hold.ByMode) {
			if err != nil && strings.Contains(err.Error(), h.Message) {
				return h.Reason
			}
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
		return ""
	})
}

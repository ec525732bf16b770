package gauges_test

import (
	"strconv"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
)

// TestTheGaugesKnowEachHold: a fence that waits is shown with the reason that holds it, and as one that is not to be
// fenced where somebody wants that.
func TestTheGaugesKnowEachHold(t *testing.T) {
	for _, c := range holdtest.Cases(t) {
		if len(c.Rows) == 0 {
			continue
		}
		first := c.Rows[0]
		g := showing(map[string]*api.NodeFence{"a": fence(api.Pending, first.Reason, time.Hour, time.Second)})
		g.Leads(true)
		got := values(t, g)
		wanted := strconv.FormatBool(!first.Intended)
		if got[`nodefence_fences_held{policy="p",reason="`+string(first.Reason)+`"}`] != 1 || got[`nodefence_fences_open{phase="Pending",policy="p",to_be_fenced="`+wanted+`"}`] != 1 {
			t.Errorf("%s: %v", c.Name(), got)
		}
	}
}

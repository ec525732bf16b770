package hold_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
	"github.com/nodefence/nodefence/shared/look"
)

// TestARebootHoldsForABoundedTime: as long as the policy gives a machine to boot, counted from the opening of the fence. Who
// asks for the fence does not wait.
func TestARebootHoldsForABoundedTime(t *testing.T) {
	rows := hold.Rows()
	c := holdtest.Of(t, rows[slices.IndexFunc(rows, func(r hold.Row) bool { return r.Reason == api.RebootUnderWay })])
	failed := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		after time.Duration
		asked bool
		want  string
	}{
		"it has just opened":     {0, false, "it has until 2026-05-01T12:15:00Z to come back, 15m0s after the fence was opened"},
		"just before the end":    {15*time.Minute - time.Millisecond, false, "it has until 2026-05-01T12:15:00Z to come back, 15m0s after the fence was opened"},
		"at the end":             {15 * time.Minute, false, ""},
		"the clock was set back": {-time.Hour, false, ""},
		"a fence is asked for":   {0, true, ""},
	} {
		in := c.Input(look.NodeFrom(c.Node, ""))
		in.OpenedAt, in.Now, in.Asked = failed, failed.Add(x.after), x.asked
		h := hold.First(in, groups...)
		if (h == nil) != (x.want == "") || h != nil && !strings.Contains(h.Message, x.want) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	for after, holds := range map[time.Duration]bool{14*time.Minute - time.Millisecond: true, 14 * time.Minute: false} {
		in := c.Input(look.NodeFrom(c.Node, ""))
		in.OpenedAt, in.Now, in.OnlyAsked = failed, failed.Add(after), true
		if h := hold.First(in, groups...); (h != nil) != holds || h != nil && !strings.Contains(h.Message, "14m0s after the fence was opened (before the request for the fence is too old)") {
			t.Errorf("a program alone asks, after %s: %+v", after, h)
		}
	}
	if h := hold.First(c.Input(look.NodeFrom(c.Node, "")), groups...); h == nil || !strings.Contains(h.Message, "if it fails, it has 15m0s to come back") {
		t.Errorf("a node that has not failed: %+v", h)
	}
}

package act

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestLost: the statement names each node with the mark at which its Lease stands, and those that were named before. A
// node whose Lease moves is refused, and then nothing is said (S15).
func TestLost(t *testing.T) {
	still := func(l *api.FenceLedger) {
		l.Status.Leases.Still = []api.StillLease{{NodeName: "a", Renewed: "1", Stale: true}, {NodeName: "b", Renewed: "2", Stale: true}, {NodeName: "c", Renewed: "3"}}
	}
	before := func(until int, renewed string) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) {
			still(l)
			l.Spec.Lost = &api.LostNodes{By: "bob", Reason: "earlier", Until: *hour(until), Nodes: []api.LostNode{{NodeName: "b", Renewed: renewed}}}
		}
	}
	one, both := `[{"nodeName":"a","renewed":"1"}]`, `[{"nodeName":"a","renewed":"1"},{"nodeName":"b","renewed":"2"}]`
	for name, tc := range map[string]struct {
		of        func(*api.FenceLedger)
		nodes     []string
		lasts     time.Duration
		says, err string
	}{
		"one":                    {still, []string{"a"}, time.Hour, one, ""},
		"two, one of them twice": {still, []string{"b", "a", "b"}, time.Hour, both, ""},
		"one was said before":    {before(13, "2"), []string{"a"}, time.Hour, both, ""},
		"it has moved since":     {before(13, "1"), []string{"a"}, time.Hour, one, ""},
		"what was said is over":  {before(11, "2"), []string{"a"}, time.Hour, one, ""},
		"one moves":              {still, []string{"a", "d"}, time.Hour, "", "not lost: d: nodefence has not seen that the Lease stands still"},
		"one is merely suspect":  {still, []string{"c"}, time.Hour, "", "not lost: c: "},
		"for longer than a day":  {still, []string{"a"}, 25 * time.Hour, "", "--for is 25h0m0s: a statement that nodes are lost lasts at most 24h0m0s"},
		"for no time":            {still, []string{"a"}, 0, "", "--for is 0s"},
	} {
		c, err := Lost(ledger(tc.of), tc.nodes, tc.lasts, ann)
		if tc.err != "" || err != nil {
			if err == nil || !strings.HasPrefix(err.Error(), tc.err) || tc.err == "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := ledgerGuards + `"lost":{"by":"ann","reason":"seen dark","until":"2026-01-01T13:00:00.000000Z","nodes":` + tc.says + `}}}`
		if d := cmp.Diff(want, patch(t, c)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := Lost(ledger(still), []string{"a"}, time.Hour, Person{Name: "ann", At: ann.At}); err == nil || !strings.Contains(err.Error(), "--reason") {
		t.Errorf("without a reason: %v", err)
	}
}

// TestNotLost takes the whole statement back.
func TestNotLost(t *testing.T) {
	if _, err := NotLost(ledger(func(*api.FenceLedger) {})); err == nil {
		t.Error("nothing was said, and is taken back")
	}
	c, err := NotLost(ledger(func(l *api.FenceLedger) {
		l.Spec.Lost = &api.LostNodes{By: "bob", Reason: "earlier", Until: *hour(13), Nodes: []api.LostNode{{NodeName: "b", Renewed: "1"}}}
	}))
	if err != nil || patch(t, c) != ledgerGuards+`"lost":null}}` || !strings.Contains(c.Words(), "bob has said that 1 node is lost: earlier.") {
		t.Errorf("%s: %s, %v", patch(t, c), c.Words(), err)
	}
}

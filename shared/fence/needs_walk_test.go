package fence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestNeedsIsComplete: a decision on a look from which all is blanked that Needs does not name
// is the one on the whole look, in each state that a part of the walk comes to. And nothing is
// named for nothing: without each need of each phase some decision is another one.
func TestNeedsIsComplete(t *testing.T) {
	n := needing{faults: map[string]string{}, why: map[string]bool{}}
	for _, from := range append(walk.Asides(), walk.Starts()) {
		walk.Run(n.decide, walk.Options{From: walk.Begin(from...), Levels: len(from) > 2, Few: 7, Most: sampled})
	}
	walk.Run(n.decide, walk.Options{From: walk.ReadOnBeforeADump(), Few: 3, Most: sampled / 5})
	t.Log(n.compared, "decisions compared")
	for what, where := range n.faults {
		t.Errorf("%s:\n%s", what, where)
	}
	for need, seen := range n.why {
		if !seen {
			t.Errorf("%s is needed for nothing that this walk has seen", need)
		}
	}
}

// sampled is how many states of each kind of fence are visited.
const sampled = 600

// needing decides on the whole look, and on what is needed of it.
type needing struct {
	compared int
	faults   map[string]string
	// why has each need of each phase, and whether a decision was another one without it.
	why map[string]bool
}

func (n *needing) decide(f *api.NodeFence, seen observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
	if n.compared%5 == 0 { // which the walk does not vary
		going, excluded := seen, seen
		going.Node.Deleting, excluded.Node.Excluded = "its Machine is being deleted", "it was left alone"
		n.compare(f, going, now)
		n.compare(f, excluded, now)
		if p := f.Status.Proof; p != nil { // which a person may have given instead
			word := f.DeepCopy()
			word.Status.Proof.Type, word.Status.Proof.By = api.ProofConfirmed, "me"
			n.compare(word, seen, now)
		}
	}
	return n.compare(f, seen, now)
}

// compare decides on a look, on what is needed of it, and on less than that.
func (n *needing) compare(f *api.NodeFence, seen observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
	st, act := fence.Decide(f, seen, now)
	need := fence.Needs(f, &seen)
	n.compared++
	if diff := differs(f, need, need, seen, now); diff != "" {
		n.fault(f, "a look without what is not needed decides otherwise", diff, need, seen)
	}
	if irreversible := act == fence.Off || act == fence.DeleteMachine; irreversible && !need.Anew {
		n.fault(f, string(act)+" by what was seen a moment ago", "", need, seen)
	}
	if act == fence.Off && f.CurrentPhase() == api.Fencing && !need.Deletion && !f.Status.Begun() {
		n.fault(f, "Off of a machine that may be being deleted", "", need, seen)
	}
	for name, drop := range needs {
		k := string(f.CurrentPhase()) + ": " + name
		less := need
		drop(&less)
		if less != need && !n.why[k] {
			n.why[k] = differs(f, less, less, seen, now) != ""
		}
	}
	return st, act
}

func (n *needing) fault(f *api.NodeFence, what, diff string, need fence.Needed, seen observed.Look) {
	if k := string(f.CurrentPhase()) + ": " + what; n.faults[k] == "" {
		n.faults[k] = fmt.Sprintf("%s\nneeds %+v\nseen %+v", diff, need, seen)
	}
}

// needs are the fields of Needed that a look can be without. What is looked at anew is no
// other look.
var needs = map[string]func(*fence.Needed){
	"Lease":        func(n *fence.Needed) { n.Lease = false },
	"LeaseIfReady": func(n *fence.Needed) { n.LeaseIfReady = false },
	"Brakes":       func(n *fence.Needed) { n.Brakes = false },
	"Recount":      func(n *fence.Needed) { n.Recount = false },
	"Deletion":     func(n *fence.Needed) { n.Deletion = false },
	"Excluded":     func(n *fence.Needed) { n.Excluded = false },
	"Dump":         func(n *fence.Needed) { n.Dump = false },
	"Left":         func(n *fence.Needed) { n.Left = false },
	"Report":       func(n *fence.Needed) { n.Report = false },
}

// differs is how a decision differs from that on the whole look, where only this is looked at.
func differs(f *api.NodeFence, need, noted fence.Needed, seen observed.Look, now time.Time) string {
	st, act := fence.Decide(f, seen, now)
	less := blanked(fence.Needs(f, &seen), need, seen)
	with, other := fence.Decide(f, less, now)
	if st, with = withoutNotes(noted, less, st), withoutNotes(noted, less, with); act == other && equality.Semantic.DeepEqual(st, with) {
		return ""
	}
	return fmt.Sprintf("%s and not %s %s", act, other, cmp.Diff(st, with))
}

// blanked is a look without what is not looked at. A Machine that is being deleted and a Node
// that says so itself are told in one field: where the Machine is not asked for, the Node's own
// word stands.
func blanked(whole, n fence.Needed, seen observed.Look) observed.Look {
	if !n.LeaseOf(seen.Node) {
		seen.Lease = observed.Lease{}
	}
	if !n.Brakes {
		seen.Brakes, seen.Reserved, seen.Machine, seen.MachineLooked = observed.Brakes{}, nil, nil, false
		seen.Lease.StillSince = time.Time{}
	}
	if !n.RecountAfter(seen.Brakes) {
		seen.Brakes.Counted = false
	}
	if whole.Deletion && !n.Deletion {
		seen.Node.Deleting = ""
	}
	if whole.Excluded && !n.Excluded {
		seen.Node.Excluded = ""
	}
	if !n.Dump {
		seen.Dump = nil
	}
	if !n.Left {
		seen.Left = nil
	}
	if !n.Report {
		seen.Report = nil
	}
	return seen
}

// withoutNotes is a record without what a look that was not needed would have noted for later.
// Since when the Lease stands still, what a round of checks that nobody waits for any more
// comes to, what is heard of a dump, and whether the Machine is listed, is noted by the next
// look that needs it. The yes
// of the gate that is given back stands in the record before the ledger is read.
func withoutNotes(n fence.Needed, seen observed.Look, st api.NodeFenceStatus) api.NodeFenceStatus {
	if !n.LeaseOf(seen.Node) {
		st.Lease = api.LeaseRecord{}
	}
	if n.LeaseIfReady && !seen.Node.Ready() {
		st.ActivityChecks = nil
	}
	if !n.Dump {
		st.Kdump = nil
	}
	if !n.Brakes {
		st.GivenBack = nil
		st.Evidence = slices.DeleteFunc(slices.Clone(st.Evidence), func(e api.Evidence) bool { return e.Type == api.TriggerMachine })
	}
	return st
}

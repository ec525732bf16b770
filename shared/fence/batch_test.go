package fence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

func TestDisruptionBudgets(t *testing.T) { // S24
	pod := func(ready bool, budgets ...string) observed.Pod {
		return observed.Pod{Namespace: "a", Name: "p", Ready: ready, Budgets: budgets}
	}
	none := observed.Disruption{Healthy: 2, Wanted: 2}
	for name, c := range map[string]struct {
		budget observed.Disruption
		pods   []observed.Pod
		free   int
		held   string
	}{
		"a pod without a budget goes":               {none, []observed.Pod{pod(true)}, 1, ""},
		"an exhausted budget holds a ready pod":     {observed.Disruption{Healthy: 2, Wanted: 2}, []observed.Pod{pod(true, "b")}, 0, "budget b: 2 healthy, 2 wanted, 0 may go"},
		"a budget that is not met holds":            {observed.Disruption{Healthy: 1, Wanted: 2}, []observed.Pod{pod(false, "b")}, 0, "1 healthy, 2 wanted"},
		"a budget is spent":                         {observed.Disruption{Allowed: 1, Healthy: 1, Wanted: 0}, []observed.Pod{pod(true, "b"), pod(true, "b")}, 1, "0 may go"},
		"a budget that is met lets an unready go":   {none, []observed.Pod{pod(false, "b"), pod(false, "b")}, 2, ""},
		"one that says AlwaysAllow lets it go, too": {observed.Disruption{Healthy: 1, Wanted: 2, UnreadyFree: true}, []observed.Pod{pod(false, "b")}, 1, ""},
		"but not a ready one":                       {observed.Disruption{Healthy: 1, Wanted: 2, UnreadyFree: true}, []observed.Pod{pod(true, "b")}, 0, "may go"},
		"two budgets of one pod hold it":            {observed.Disruption{Allowed: 9}, []observed.Pod{pod(true, "b", "c")}, 0, "counts for two"},
		"a budget that was not read allows nothing": {observed.Disruption{}, []observed.Pod{pod(true, "unread")}, 0, "budget unread"},
	} {
		left := &observed.Left{Delete: c.pods, Budgets: map[string]observed.Disruption{"b": c.budget}}
		free, held := facts.Permitted(api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, RespectDisruptionBudgets: true}, left)
		if len(free) != c.free || !strings.Contains(strings.Join(held, ";"), c.held) || len(free)+len(held) != len(c.pods) {
			t.Errorf("%s: %d go, held %q", name, len(free), held)
		}
		if left.Budgets["b"] != c.budget {
			t.Errorf("%s: what was seen was changed", name)
		}
	}
}

// TestStrategies: who frees what under each.
func TestStrategies(t *testing.T) { // S24
	one := int32(1)
	type does struct{ taints, deletes, detaches bool }
	for name, c := range map[string]struct {
		how  api.ReleaseSettings
		want does
	}{
		"nothing is set":             {api.ReleaseSettings{}, does{true, true, false}},
		"both":                       {api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete}, does{true, true, false}},
		"the taint":                  {api.ReleaseSettings{Strategy: api.ReleaseOutOfServiceTaint}, does{true, false, false}},
		"deletion":                   {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion}, does{false, true, true}},
		"none":                       {api.ReleaseSettings{Strategy: api.ReleaseNone}, does{}},
		"none, whatever else is set": {api.ReleaseSettings{Strategy: api.ReleaseNone, PodsPerMinute: &one}, does{}},
		"a rate is pod by pod, whatever is asked":    {api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete, PodsPerMinute: &one}, does{false, true, true}},
		"budgets are pod by pod":                     {api.ReleaseSettings{Strategy: api.ReleaseOutOfServiceTaint, RespectDisruptionBudgets: true}, does{false, true, true}},
		"one storage's pods are pod by pod":          {api.ReleaseSettings{StorageClassNames: []string{"x"}}, does{false, true, true}},
		"deletion at a rate is no different from it": {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, PodsPerMinute: &one}, does{false, true, true}},
	} {
		if d := cmp.Diff(c.want, does{c.how.Taints(), c.how.Deletes(), c.how.Detaches()}, cmp.AllowUnexported(does{})); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// TestAMinuteNeverHasMoreDeletionsThanAllowed lets a release of twenty pods at
// seven a minute run to its end, with a device that answers at once.
func TestAMinuteNeverHasMoreDeletionsThanAllowed(t *testing.T) {
	rate, pods := int32(7), 20
	spec := fencetest.Spec()
	spec.Decision.Settings.Release = api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, PodsPerMinute: &rate, Timeout: spec.Decision.Settings.Release.Timeout}
	spec.Decision.Settings.Release.Timeout.Duration = time.Hour
	f := releasing(spec)
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	var at []time.Time
	now := fencetest.Start
	for range 1000 {
		if f.Status.Phase != api.Releasing && f.Status.Phase != api.Fencing {
			break
		}
		if n := f.Status.NextLook; n != nil && n.After(now) {
			now = n.Time
		}
		if f.Status.Phase == api.Fencing {
			f.Status.Phase, f.Status.Proof = api.Releasing, proofOf(now) // seen off anew
		}
		seen.Left = &observed.Left{Delete: make([]observed.Pod, pods)}
		st, act := fence.Decide(f, seen, now)
		f.Status = st
		if act != fence.Release {
			continue
		}
		for range facts.Batch(f, seen.Left) {
			at, pods = append(at, now), pods-1
		}
		if age := now.Sub(f.Status.Proof.At.Time); age > facts.ProofValidity {
			t.Errorf("released on a proof of %s", age)
		}
	}
	if pods != 0 || f.Status.Phase != api.PoweringOn || f.Status.Release.Pods != 20 {
		t.Fatalf("%d pods are left, phase %s, %d counted: %s", pods, f.Status.Phase, f.Status.Release.Pods, f.Status.Message)
	}
	for i := range at {
		if j := i + int(rate); j < len(at) && at[j].Sub(at[i]) < time.Minute {
			t.Errorf("%d deletions within %s", rate+1, at[j].Sub(at[i]))
		}
	}
}

// TestADetachmentDelaysNoDeletion: attachments become free one by one after the
// pods of the first minute went; the next pods go a minute after those pods did.
func TestADetachmentDelaysNoDeletion(t *testing.T) { // S24
	rate := int32(10)
	spec := fencetest.Spec()
	spec.Decision.Settings.Release = api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, PodsPerMinute: &rate, Timeout: spec.Decision.Settings.Release.Timeout}
	spec.Decision.Settings.Release.Timeout.Duration = time.Hour
	f := releasing(spec)
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	at := func(after time.Duration, pods, detach int) (fence.Action, int32) {
		now := fencetest.Start.Add(after)
		f.Status.Phase, f.Status.Proof = api.Releasing, proofOf(now)
		seen.Left = &observed.Left{Delete: make([]observed.Pod, pods), Detach: make([]observed.Attachment, detach), Attachments: 1}
		st, act := fence.Decide(f, seen, now)
		f.Status = st
		return act, st.Release.Batch
	}
	type step struct {
		act  fence.Action
		pods int32
	}
	var got []step
	for _, l := range []struct {
		after        time.Duration
		pods, detach int
	}{
		{0, 20, 0}, {20 * time.Second, 10, 1}, {20*time.Second + facts.Poll/2, 10, 1}, {40 * time.Second, 10, 1}, {59 * time.Second, 10, 1}, {61 * time.Second, 10, 0},
	} {
		act, n := at(l.after, l.pods, l.detach)
		if act != fence.Release {
			n = 0
		}
		got = append(got, step{act, n})
	}
	want := []step{{fence.Release, 10}, {fence.Release, 0}, {fence.None, 0}, {fence.Release, 0}, {fence.Release, 0}, {fence.Release, 10}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(step{})); d != "" {
		t.Error(d)
	}
	if f.Status.Release.InMinute != rate {
		t.Errorf("%d deletions are counted in this minute", f.Status.Release.InMinute)
	}
}

// releasing is a fence whose machine we cut and saw off.
func releasing(spec fencetest.Given) *api.NodeFence {
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{})}
	f.Name, f.UID = "n", "fence-1"
	start := observed.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Releasing, FenceNumber: 1, MinReaderVersion: api.Schema, PhaseSince: &start, OpenedAt: &start, Proof: proofOf(fencetest.Start),
		Lease: api.LeaseRecord{Renewed: "r0", StillSince: &start}, Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}, Cut: []int32{0}}}
	return f
}

func proofOf(at time.Time) *api.Proof {
	return &api.Proof{Type: api.ProofSeenOff, FenceUID: "fence-1", FenceNumber: 1, NodeUID: "uid-1", BootIDBefore: "a", At: observed.StampOf(at)}
}

// TestWaitsAreSaid: each way of waiting names its cause, and its end is stated.
func TestWaitsAreSaid(t *testing.T) { // S28
	one := int32(1)
	volume := "volume pv-1 (CSI driver csi.example.com)"
	for name, c := range map[string]struct {
		how    api.ReleaseSettings
		left   observed.Left
		at     time.Duration
		reason api.Reason
		words  string
		phase  api.Phase
	}{
		"a volume that does not go": {api.ReleaseSettings{}, observed.Left{Attachments: 1, Names: []string{volume}}, 31 * time.Second,
			api.WaitingForRelease, "waiting for " + volume, api.Releasing},
		"a volume that has not gone in time": {api.ReleaseSettings{}, observed.Left{Attachments: 1, Names: []string{volume}}, time.Minute,
			api.ReleaseTimedOut, "1 attachments are left after 50s: " + volume + "; going on", api.PoweringOn},
		"the rate": {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, PodsPerMinute: &one}, observed.Left{Delete: make([]observed.Pod, 3)}, 2 * time.Second,
			api.PodsPerMinute, "podsPerMinute is 1, the next go at 00:01:00", api.Releasing},
		"a budget": {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, RespectDisruptionBudgets: true},
			observed.Left{Delete: []observed.Pod{{Namespace: "a", Name: "p", Ready: true, Budgets: []string{"a/b"}}}, Budgets: map[string]observed.Disruption{"a/b": {Healthy: 1, Wanted: 1}}}, 2 * time.Second,
			api.DisruptionBudget, "pod a/p by budget a/b: 1 healthy, 1 wanted, 0 may go; from 00:00:50 on nothing more is deleted, and the machine is switched on with them", api.Releasing},
		"a budget that held to the end": {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion, RespectDisruptionBudgets: true},
			observed.Left{Delete: []observed.Pod{{Namespace: "a", Name: "p", Ready: true, Budgets: []string{"a/b"}}}, Budgets: map[string]observed.Disruption{"a/b": {Healthy: 1, Wanted: 1}}}, time.Minute,
			api.ReleaseTimedOut, "held: pod a/p by budget a/b", api.PoweringOn},
		"a finalizer, where no taint is on": {api.ReleaseSettings{Strategy: api.ReleaseResourceDeletion}, observed.Left{Terminating: 1, Names: []string{"pod a/p (finalizer x)"}}, 2 * time.Second,
			api.WaitingForRelease, "waiting for pod a/p (finalizer x)", api.Releasing},
		"nothing is released": {api.ReleaseSettings{Strategy: api.ReleaseNone}, observed.Left{}, 0, api.Released, "0 pods released", api.PoweringOn},
	} {
		spec := fencetest.Spec()
		c.how.Timeout = spec.Decision.Settings.Release.Timeout
		spec.Decision.Settings.Release = c.how
		f := releasing(spec)
		seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
		seen.Left = &c.left
		f.Status, _ = fence.Decide(f, seen, fencetest.Start)
		if c.at > 0 {
			if c.phase == api.PoweringOn {
				f.Status.Placed.OutOfService = false // cleared in a step of its own
			}
			seen.Node.OutOfService = f.Status.Placed.OutOfService
			now := fencetest.Start.Add(c.at)
			f.Status.Proof = proofOf(now)
			f.Status, _ = fence.Decide(f, seen, now)
		}
		if st := f.Status; st.Reason != c.reason || !strings.Contains(st.Message, c.words) || st.Phase != c.phase {
			t.Errorf("%s: %s %s: %s", name, st.Phase, st.Reason, st.Message)
		}
	}
}

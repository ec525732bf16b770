package model

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// moment is what happens, after which everything that is shown is compared with the API server's objects.
type moment struct {
	when string
	do   func(*lived)
}

// after is a moment some time later.
func after(d time.Duration) func(*lived) { return func(l *lived) { l.pass(d) } }

// moments are one history of a cluster of ten nodes, of which three may be unhealthy and one may be fenced at a time.
var moments = []moment{
	{"all nodes are healthy", after(time.Minute)},
	{"a has crashed 1 s ago", func(l *lived) { l.crash("a"); l.pass(time.Second) }},
	{"a has crashed 6 s ago", after(5 * time.Second)},
	{"the Lease of a stands still", after(15 * time.Second)},
	{"the Lease of a has missed two renewals", after(10 * time.Second)},
	{"Kubernetes has lost a", func(l *lived) {
		l.until("a is lost", func() bool { return !isReady(read[corev1.Node](l.world, nodes+"a")) })
	}},
	{"the fence of a has begun", func(l *lived) { l.phase("a", api.Fencing) }},
	{"b has crashed beside the fence of a", func(l *lived) { l.crash("b"); l.pass(time.Second) }},
	{"a is in Recovering", func(l *lived) { l.phase("a", api.Recovering) }},
	{"a has crashed again in Recovering", func(l *lived) {
		l.until("a is Ready", func() bool { return isReady(read[corev1.Node](l.world, nodes+"a")) })
		l.crash("a")
		l.pass(lostAfter + 10*time.Second)
	}},
	{"c to f have crashed 1 s ago", func(l *lived) { l.crash("c", "d", "e", "f"); l.pass(time.Second) }},
	{"their Leases stand still: the storm begins", after(20 * time.Second)},
	{"Kubernetes has lost them", after(30 * time.Second)},
	{"the storm goes on", after(3 * time.Minute)},
	{"p is paused in the storm", func(l *lived) { paused(l.world); l.pass(time.Second) }},
	{"p is paused, one tick later", after(time.Minute)},
	{"p is resumed", func(l *lived) {
		specified(func(s *api.FencePolicySpec) { s.PauseRequests = nil })(l.world)
		l.pass(time.Second)
	}},
	{"everything is stopped", func(l *lived) { stopped(l.world); l.pass(time.Second) }},
	{"everything is stopped, one tick later", after(time.Minute)},
	{"fences may begin again", func(l *lived) {
		recorded(func(_ *world, l *api.FenceLedger) { l.Spec.Stop = false })(l.world)
		l.pass(time.Second)
	}},
	{"c comes back", func(l *lived) { l.heal("c"); l.pass(time.Second) }},
	{"d and e come back: the storm is over", func(l *lived) { l.heal("d"); l.heal("e"); l.pass(time.Minute) }},
	{"the storm cools down", after(time.Minute)},
	{"the cool-down is over", after(5 * time.Minute)},
	{"the fence of f has ended", after(20 * time.Minute)},
	{"the leader has been gone for 20 s", func(l *lived) { l.sourceGone = true; l.pass(20 * time.Second) }},
	{"the leader has been gone for a minute", after(40 * time.Second)},
	{"e crashes while nobody leads", func(l *lived) { l.crash("e"); l.pass(time.Minute) }},
	{"the leader is back", func(l *lived) { l.sourceGone = false; l.pass(time.Second) }},
	{"the fence of e has begun", func(l *lived) { l.phase("e", api.Fencing) }},
	{"no function has answered for six minutes", func(l *lived) { l.functionsGone = true; l.pass(6 * time.Minute) }},
	{"the functions are back", func(l *lived) { l.functionsGone = false; l.pass(time.Minute) }},
	{"the fence of e has ended", after(20 * time.Minute)},
	{"p is in DryRun, and f and g have crashed", func(l *lived) {
		specified(func(s *api.FencePolicySpec) { s.Mode = api.ModeDryRun })(l.world)
		l.crash("f", "g")
		l.pass(2 * time.Minute)
	}},
	{"f and g come back", func(l *lived) { l.heal("f"); l.heal("g"); l.pass(2 * time.Minute) }},
	{"p acts again, and the Node object of j is gone", func(l *lived) {
		specified(func(s *api.FencePolicySpec) {
			s.Mode, s.MissingNodes = api.ModeEnforce, &api.MissingNodesRule{NodeNames: []string{"j"}}
		})(l.world)
		l.remove(nodes + "j")
		l.pass(2 * time.Minute)
	}},
	{"the fence of h has begun", func(l *lived) { l.crash("h"); l.phase("h", api.Fencing) }},
	{"p is deleted while h is fenced", func(l *lived) { l.remove(policies + "p"); l.pass(time.Second) }},
}

// TestTheNumbersOfEachMoment: at each moment each number that kubectl fence why and status, the page and the status of
// the policy show is what there is in the API server (S28).
func TestTheNumbersOfEachMoment(t *testing.T) {
	l := lives(t, func(s *api.FencePolicySpec) {
		s.Limits.MaxUnhealthy, s.Limits.MaxConcurrent = new(intstr.FromInt32(3)), new(int32(1))
		s.Recovery = &api.Recovery{ReadyDuration: api.DurationOf(time.Minute), BootTimeout: api.DurationOf(10 * time.Minute)}
	})
	for _, m := range moments {
		m.do(l)
		l.compare(m.when)
		if t.Failed() {
			t.Logf("after: %s: %+v", m.when, reckon(l.world))
		}
	}
	if l.watch.broken != "" {
		t.Errorf("%s: %s", l.watch.broken, l.watch.fault)
	}
}

package model

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
)

// lostAfter is how long a kubelet may be silent before Kubernetes says that its node is Unknown.
const lostAfter = 40 * time.Second

// lived is a world in which time passes second by second: kubelets renew their Leases, Kubernetes loses silent nodes,
// the source looks, and all functions run.
type lived struct {
	*testing.T
	*world
	functions map[string]run.Handler
	// sourceGone and functionsGone: nobody looks, or nobody takes an event.
	sourceGone, functionsGone bool
	// counted is the reckoning of the last tick of policystatus, and past are those of the last seconds.
	counted reckoned
	past    []reckoned
}

// lives returns a world of ten healthy nodes under policy p.
func lives(t *testing.T, change func(*api.FencePolicySpec)) *lived {
	p := roomForOne(api.ActionReboot)
	p.Generation = 1
	change(&p.Spec)
	l := &lived{T: t, world: newWorld(10, 0, p, false), functions: map[string]run.Handler{}}
	proc := process{call: func(r request) (answer, error) { return l.exec(r.signed()), nil }, now: func() time.Duration { return l.now }, me: "process", records: &loop.RecordCache{}}
	c, err := kube.NewAt(&rest.Config{Host: "http://model", Transport: wire{proc, &sync.Mutex{}}}, proc.now)
	must(err)
	for _, name := range []string{gate.Name, isolate.Name, power.Name, cleanup.Name, recovery.Name} {
		l.functions[name] = proc.function(c, name)
	}
	l.tick()
	return l
}

// pass lets so many seconds pass.
func (l *lived) pass(long time.Duration) {
	for end := l.now + long; l.now < end; {
		l.now += time.Second
		l.second()
	}
}

// until lets time pass until something is so.
func (l *lived) until(what string, is func() bool) {
	l.Helper()
	for end := l.now + time.Hour; !is(); {
		if l.pass(time.Second); l.now > end {
			l.Fatalf("an hour has passed, and not: %s", what)
		}
	}
}

// second is what happens in one second.
func (l *lived) second() {
	for i := range l.machines {
		switch m := &l.machines[i]; {
		case l.at(nodes+m.node) == nil:
		case !m.dead() && l.now-m.since >= renewal, !m.dead() && !isReady(read[corev1.Node](l.world, nodes+m.node)):
			l.beat(m)
		case m.dead() && l.now-m.since >= lostAfter:
			l.lose(m)
		}
	}
	l.detach()
	if !l.sourceGone {
		l.observe()
		l.wake()
	}
	l.work()
	if l.now%facts.Resync == 0 && !l.functionsGone {
		l.tick()
	}
	l.past = append(l.past[max(0, len(l.past)-lastLook):], reckon(l.world))
}

// lastLook is how many seconds ago the last look of a fence may be that a storm holds.
const lastLook = 10

// lose has Kubernetes lose a node, once.
func (l *lived) lose(m *machine) {
	if c := read[corev1.Node](l.world, nodes+m.node).Status.Conditions[0]; c.Status != corev1.ConditionUnknown {
		l.world.ready(m, corev1.ConditionUnknown, l.now)
	}
}

// wake is what the source does about nodes and fences: it sends the events of what is due.
func (l *lived) wake() {
	for _, m := range l.machines {
		f, n := l.fence(m.node), read[corev1.Node](l.world, nodes+m.node)
		switch {
		case f != nil && f.Open():
			if due := f.Status.NextLook; due == nil || !due.After(epoch.Add(l.now)) || f.Status.Phase == api.Recovering && l.now%5 == 0 {
				l.send(delivery{events.OfPhase(f.CurrentPhase()), m.node})
			}
		case n != nil && !isReady(n):
			l.send(delivery{events.NodeUnhealthy, m.node})
		}
	}
}

func isReady(n *corev1.Node) bool { return n.Status.Conditions[0].Status == corev1.ConditionTrue }

// work has the functions take all events that are on their way. Where no function runs, the events are lost.
func (l *lived) work() {
	for len(l.queue) > 0 {
		d := l.queue[0]
		l.queue = l.queue[1:]
		if l.functionsGone {
			continue
		}
		for e := d.event(); d.owner() != ""; {
			reply, err := l.functions[d.owner()](context.Background(), e)
			if err != nil {
				l.Fatal(err)
			}
			if reply == nil {
				break
			}
			e, d = *reply, delivery{reply.Type(), reply.Subject()}
		}
	}
}

// tick has policystatus write, and keeps what there is to be counted then.
func (l *lived) tick() {
	l.counted = reckon(l.world)
	screens{l.T, l.world}.count()
}

// crash has machines hang.
func (l *lived) crash(names ...string) {
	for _, n := range names {
		m := l.machine(n)
		m.hung, m.died = true, true
	}
}

// phase waits until the fence of a node is in a phase.
func (l *lived) phase(node string, p api.Phase) {
	l.Helper()
	l.until(fmt.Sprint(node, " in ", p), func() bool { f := l.fence(node); return f != nil && f.CurrentPhase() == p })
}

package apiserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// taker is a Sender that accepts each event at once, and counts them.
type taker struct{ sent atomic.Int64 }

func (k *taker) Send(context.Context, event.Event) error {
	k.sent.Add(1)
	return nil
}

// TestAllPartsAreAskedAtOnce by watches, loops and senders. No part waits for another for
// ever.
func TestAllPartsAreAskedAtOnce(t *testing.T) {
	s := asleepWith(t, &taker{}, sec(30))
	s.enrol.begin()
	s.targets.known()
	s.nodes.exclude()
	s.leases.Resume(t0)
	ctx, end := context.WithCancel(t.Context())
	var sends, wg sync.WaitGroup
	sends.Go(func() { s.outbox.Run(ctx) })
	const rounds = 3000
	name := func() string { return string(rune('a' + rand.IntN(4))) }
	reports := s.problemHandler()
	report := func() {
		reports.OnAdd(hung(1, func(ev *corev1.Event) { ev.InvolvedObject.Name, ev.InvolvedObject.UID = name(), "" }), false)
	}
	for _, does := range []func(i int){
		func(i int) {
			if n := nodeIn(name(), "True", float64(i)); i%3 > 0 {
				n.Labels = map[string]string{"pet": fmt.Sprint(i % 2)}
				s.node(n)
			} else {
				s.nodeGone(n.Name)
			}
		},
		func(i int) {
			f := fenceOf(fmt.Sprint(i), func(f *api.NodeFence) { f.Name = name(); f.Spec.NodeName = f.Name; f.Status.Transitions = int64(i) })
			if s.fence(f); i%3 == 0 {
				s.fenceGone(f.Name)
			}
		},
		func(i int) { s.leaseHandler().OnAdd(leaseIn(name(), float64(i), 40), false); s.leases.Gone(name()) },
		func(int) { s.targetHandler().OnAdd(targetIn(name(), string(api.DeviceAnswers), 0), false) },
		func(i int) {
			s.policy(t.Context(), nil, "p", []nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Action: api.ProblemAsk}})
			s.nodes.excludes("p", &api.ExcludedNodes{Selector: &api.LabelSelector{MatchLabels: map[string]string{"pet": fmt.Sprint(i % 2)}}})
			s.targets.manages("p", &api.FencePolicy{})
		},
		func(i int) {
			s.ledgerSeen(&api.FenceLedger{Spec: api.FenceLedgerSpec{Stop: i%2 == 0}})
		},
		func(int) { report() },
		func(int) {
			cm := leftOf(name(), 0)
			s.enrol.saw(cm)
			s.configs.saw(cm)
			s.configs.gone(cm.Name)
			s.enrolmentGone(cm.Name)
		},
		func(int) { s.resync(); s.due.SendDue(s.now()); s.orphans(); s.leftovers() },
		func(int) {
			if p, keep := s.toKeep(false); keep {
				s.leases.Kept(p.LeasePicture)
				s.configs.keep(s.configsSeen(s.now()))
				s.enrol.versions([]api.NodeTurn{{NodeName: name()}})
			}
			s.suspects()
			s.sendChecks()
			s.hostHANews()
		},
		func(int) { s.watchBegan(kubeletLeases); s.watchEnded(kubeletLeases); _ = s.Ready() },
	} {
		wg.Go(func() {
			for i := range rounds {
				does(i)
			}
		})
	}
	wg.Wait()
	end()
	sends.Wait()
}

// TestTwoPartsAtOnce: a decision of one part that depends on another stays right while the
// other changes.
func TestTwoPartsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before func(s *Source, i int)
		// one and other come at the same time; wrong tells what is wrong afterwards.
		one, other func(s *Source, i int)
		wrong      func(s *Source) string
	}{
		"reports are told again while a record is deleted: by one for that a second fence would be had": {
			before: func(s *Source, i int) {
				s.due.Put(fenceOf("1"), sec(0))
				s.problemHandler().OnAdd(hung(1), false)
				drain(s.outbox)
			},
			one:   func(s *Source, _ int) { s.fenceGone("a") },
			other: func(s *Source, _ int) { s.resync() },
			wrong: func(s *Source) string { return strings.Join(s.pendingIDs(), " ") },
		},
		"a wake-up is sent while its fence goes on: if the newest were stale, none would be sent": {
			before: func(s *Source, i int) { s.due.Put(goneOn(2*i), sec(100*float64(i))) },
			one:    func(s *Source, i int) { s.due.SendDue(sec(100*float64(i) + 60)) },
			other: func(s *Source, i int) {
				s.due.Put(goneOn(2*i+1), sec(100*float64(i)))
				s.due.Send("a", sec(100*float64(i)+1), nil, sec(100*float64(i)))
			},
			wrong: func(s *Source) string {
				ids, had := s.pendingIDs(), s.sent()
				if drain(s.outbox); s.sent() == had {
					return fmt.Sprint("all are stale: ", ids)
				}
				return ""
			},
		},
		"a node goes while a report of it is counted": {
			before: func(s *Source, _ int) { s.nodes.known["a"] = nodeView{uid: "node-a"} },
			one:    func(s *Source, _ int) { s.nodeGone("a") },
			other: func(s *Source, _ int) {
				s.problem(hung(1), events.ProblemReport{Node: "a", Reason: "TaskHung"}, api.AboutNode, 1, s.now())
			},
			wrong: func(s *Source) string {
				if len(s.counts(t)) > 0 {
					return "it is counted still"
				}
				return ""
			},
		},
		"a node's labels change while a policy's do by which it leaves nodes alone": {
			before: func(s *Source, _ int) {
				s.nodes.excludes("p", nil)
				s.nodes.saw("a", nodeView{labels: map[string]string{"pet": "no"}})
			},
			one: func(s *Source, _ int) { s.nodes.saw("a", nodeView{labels: map[string]string{"pet": "yes"}}) },
			other: func(s *Source, _ int) {
				s.nodes.excludes("p", &api.ExcludedNodes{Selector: &api.LabelSelector{MatchLabels: map[string]string{"pet": "yes"}}})
			},
			wrong: func(s *Source) string {
				if by := s.enrol.wanted["a"].by; by != "p" {
					return fmt.Sprintf("excluded by %q", by)
				}
				return ""
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := asleepWith(t, &taker{}, sec(0), "a")
			s.enrol.begin()
			s.nodes.exclude()
			s.problems.named["p"] = []nodeproblem.Rule{{About: api.AboutNode, Reason: "TaskHung", Action: api.ProblemAsk}}
			for i := range 5000 {
				c.before(s, i)
				var wg sync.WaitGroup
				wg.Go(func() { c.one(s, i) })
				c.other(s, i)
				wg.Wait()
				if wrong := c.wrong(s); wrong != "" {
					t.Fatal(wrong)
				}
			}
		})
	}
}

// sent is how many events the taker has.
func (s *Source) sent() int64 { return s.o.Sender.(*taker).sent.Load() }

// goneOn is a fence that has changed its phase so often.
func goneOn(times int) *api.NodeFence {
	return fenceOf(fmt.Sprint(times), func(f *api.NodeFence) { f.Status.Transitions = int64(times) })
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	gateNodes  = 10
	gateRounds = 50
	gateOnes   = 5
	gates      = 8
)

// TestEightGates: of ten nodes three die at the same moment, and one fence is allowed. Eight
// gates, each with a client of its own, get the events of all three, fifty times. Two fences never
// hold a slot at the same time, all three nodes get one, and each node has one fence (S14: the
// limits hold under every interleaving). There is no kubelet: the test says which node is Ready,
// and gives a slot back as the functions after the gate do.
func TestEightGates(t *testing.T) {
	w := newWorld(t, 0, "action: Isolate\nlimits: {maxUnhealthy: \"40%\", maxConcurrent: 1, stormCoolDown: 0s}\n", "--nodes", "0", "--grace", "10m")
	g := &gatesWorld{world: w}
	for i := range gateNodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node(i)}}
		_, err := w.Kube.CoreV1().Nodes().Create(w.ctx, n, metav1.CreateOptions{})
		must(t, err)
		must(t, w.says(n.Name, corev1.ConditionTrue))
	}
	_, err := w.Fences.Ledger(w.ctx)
	must(t, err)
	g.watch = watchSlots(w)
	began := time.Now()
	for range gateRounds {
		g.round("node-1", "node-4", "node-7")
	}
	for range gateOnes {
		g.round("node-5")
	}
	t.Logf("%d rounds in %s, %d versions of the ledger and %d of the records", g.rounds, time.Since(began).Round(time.Second), g.ledgers, g.records)
}

type gatesWorld struct {
	*world
	watch                    *slotWatch
	rounds, ledgers, records int
}

// round kills nodes at once, and ends when each had its slot.
func (g *gatesWorld) round(dead ...string) {
	g.t.Helper()
	g.rounds++
	now, since := metav1.NewMicroTime(g.Fences.Clock().Now()), metav1.NewMicroTime(g.Fences.Clock().Now().Add(-time.Minute))
	_, err := g.Fences.SaveSourceView(g.ctx, kube.SourceView{Leases: api.LeasePicture{
		ObservedAt: &now, Since: &since, Renewal: metav1.Duration{Duration: 2 * time.Second}, Total: gateNodes,
	}}, "")
	must(g.t, err)
	must(g.t, atOnce(dead, func(node string) error { return g.says(node, corev1.ConditionUnknown) }))
	all := g.fresh()
	ctx, stop := context.WithCancel(g.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { g.wave(ctx, all, dead) })
	err = g.serve(len(dead))
	stop()
	wg.Wait()
	must(g.t, err)
	g.forget(dead)
	g.judge(dead)
}

// fresh are eight gates that have seen nothing yet.
func (g *gatesWorld) fresh() []run.Handler {
	g.t.Helper()
	all := make([]run.Handler, gates)
	for i := range all {
		s := rig.Settings()
		s.Cluster = "gates"
		parts, err := functions.NewParts(g.ctx, s, rest.CopyConfig(g.Config), quiet(), freshRegistry())
		must(g.t, err)
		all[i] = functions.Handlers(parts)["gate"]
	}
	return all
}

// wave gives every gate the events of all dead nodes at once, and again as soon as all have
// answered, until it is stopped. The answers of the gates do not matter: a gate that loses a race
// gets the next event.
func (g *gatesWorld) wave(ctx context.Context, all []run.Handler, dead []string) {
	src := events.SourceOf("gates")
	for n := 0; ctx.Err() == nil; n++ {
		var wg sync.WaitGroup
		for i, gate := range all {
			for _, j := range rand.Perm(len(dead)) {
				e := src.Condition(events.ConditionChange{Node: dead[j], Condition: "Ready", Status: "Unknown", Unhealthy: true}, time.Time{}, time.Now())
				if n > 0 {
					if f, err := g.Fences.Fence(ctx, dead[j]); err == nil && f != nil && f.CurrentPhase() == api.Pending {
						e = src.Phase(f, time.Now(), time.Now()) // from here the source wakes the record
					}
				}
				e.SetID(fmt.Sprintf("gates-%d-%d-%d-%s", g.rounds, n, i, dead[j]))
				wg.Go(func() { _, _ = gate(g.ctx, e) })
			}
		}
		wg.Wait()
	}
}

// serve gives back each slot as soon as its fence has begun, until so many have. The record stays
// open, so that a second fence of its node is seen.
func (g *gatesWorld) serve(want int) error {
	for range want {
		select {
		case name := <-g.watch.begun:
			if err := g.release(name); err != nil {
				return err
			}
		case <-g.ctx.Done():
			return fmt.Errorf("serve round %d: %w", g.rounds, g.ctx.Err())
		}
	}
	return nil
}

func (g *gatesWorld) release(name string) error {
	for {
		f, err := g.Fences.Fence(g.ctx, name)
		if err != nil {
			return err
		}
		if f == nil {
			return fmt.Errorf("fence of %s: begun, and then gone", name)
		}
		if p := f.CurrentPhase(); p != api.Isolating {
			return fmt.Errorf("fence of %s: begun, and then written by a gate: it is %s", name, p)
		}
		at := metav1.NewMicroTime(time.Now().UTC())
		f.Status.Phase, f.Status.PhaseSince, f.Status.NextLook = api.Recovering, &at, nil
		if _, err = g.Fences.SaveFenceStatus(g.ctx, f); !errors.Is(err, kube.ErrConflict) {
			return err
		}
	}
}

// forget removes the records and empties the ledger, so that each round begins as
// the first.
func (g *gatesWorld) forget(dead []string) {
	g.t.Helper()
	must(g.t, atOnce(dead, func(name string) error {
		f, err := g.Fences.Fence(g.ctx, name)
		if err != nil || f == nil {
			return errors.Join(err, fmt.Errorf("fence of %s: can't be removed", name))
		}
		_, err = g.Fences.DropFinalizer(g.ctx, f)
		return errors.Join(err, g.says(name, corev1.ConditionTrue),
			g.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+name).Do(g.ctx).Error())
	}))
	must(g.t, g.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/"+api.LedgerName+"/status").
		Body([]byte(`{"status":null}`)).Do(g.ctx).Error())
}

// judge checks every version that the ledger and the records had in this round.
func (g *gatesWorld) judge(dead []string) {
	g.t.Helper()
	got, err := g.watch.round(g.ctx, len(dead))
	must(g.t, err)
	g.ledgers += got.ledgers
	g.records += got.records
	want := map[string]int{}
	for _, n := range dead {
		want[n] = 1
	}
	if d := cmp.Diff(want, got.fences); d != "" {
		g.t.Errorf("round %d: fences (-want +got):\n%s", g.rounds, d)
	}
	for _, wrong := range got.overlaps {
		g.t.Errorf("round %d: %s", g.rounds, wrong)
	}
}

// atOnce does one thing for all, each in a goroutine that waits for the others.
func atOnce(nodes []string, do func(node string) error) error {
	errs, begin := make([]error, len(nodes)), make(chan struct{})
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { <-begin; errs[i] = do(n) })
	}
	close(begin)
	wg.Wait()
	return errors.Join(errs...)
}

// says sets a node's Ready, as its kubelet or the control plane would.
func (w *world) says(node string, ready corev1.ConditionStatus) error {
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastTransitionTime":%q}]}}`, ready, time.Now().UTC().Format(time.RFC3339))
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
	return err
}

package admit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// committer decides on batches.
type committer struct{ client *kube.Client }

// commit decides on all waiters of a batch in one atomic step: it reads the ledger, then everything else,
// decides on each waiter in turn, and writes the ledger unless the ledger was written meanwhile (S14). After
// such a conflict no waiter has an answer.
func (c committer) commit(ctx context.Context, all []*waiter) (conflict bool) {
	for _, a := range all {
		a.answer = answer{}
	}
	err := recoverPanic(func() error { return c.decide(ctx, all) })
	if errors.Is(err, kube.ErrConflict) {
		return true
	}
	for _, a := range all {
		if err != nil && a.err == nil && a.panicked == nil {
			a.setError(err)
		}
	}
	return false
}

// decide makes one try. The time is taken before all reads: with a later time, a reservation could be dropped
// whose fence has gone on after the read.
func (c committer) decide(ctx context.Context, all []*waiter) error {
	now := c.client.Clock().Now()
	notBefore := time.Duration(0) // what the look before this action has read counts
	if len(all) > 1 {
		notBefore = c.client.Clock().Elapsed() // they have waited for each other: others may have written an earlier ledger
	}
	led, err := c.client.NewReader(notBefore).Ledger(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.touchesMachine() {
			a.verdict, a.err = heldByRead(ctx, c.client, a.fence.Spec.NodeName, led)
		}
	}
	open := slices.DeleteFunc(slices.Clone(all), isRefused)
	if len(open) == 0 {
		return nil
	}
	if err := c.markPlanes(ctx, open); err != nil {
		return err
	}
	world, fences, err := c.readWorld(ctx, open, led)
	if err != nil {
		return err
	}
	was := led.DeepCopy()
	for _, a := range open {
		led = c.admit(ctx, a, world, deciderFor(a, fences), fencesOf(all, a), led, now)
	}
	none := !slices.ContainsFunc(open, func(a *waiter) bool { return a.purpose != ifFull && a.touchesMachine() && !isRefused(a) })
	if none && (led.NotUnderstood.Any() || equality.Semantic.DeepEqual(was.Status, led.Status)) {
		return nil
	}
	_, err = c.client.SaveLedger(ctx, led)
	return err
}

// readWorld reads the cluster. If a waiter asks for Jobs of checks, fences are all fences: the records say
// which fences wait for a turn.
func (c committer) readWorld(ctx context.Context, all []*waiter, led *api.FenceLedger) (world *look.World, fences []api.NodeFence, err error) {
	world, err = look.ReadWorld(ctx, c.client.NewReader(0), led)
	if err == nil && slices.ContainsFunc(all, (*waiter).asksForJobs) {
		fences, err = c.client.Fences(ctx)
	}
	return world, fences, err
}

// touchesMachine tells whether the fence asks for what leads to a call to a device. Checks touch no device, and a dry
// run touches nothing.
func (a *waiter) touchesMachine() bool { return a.purpose != forChecks && !a.dry }

// asksForJobs tells whether the checks of the waiter are made by Jobs.
func (a *waiter) asksForJobs() bool {
	return a.purpose == forChecks && admission.CheckJobs(&a.fence.Status.Decision.Settings) > 0
}

// markPlanes marks the nodes on which a static pod of an API server or of etcd runs, for the waiters
// whose policy spares such nodes (S13). One list serves all waiters.
func (c committer) markPlanes(ctx context.Context, all []*waiter) error {
	of := slices.DeleteFunc(slices.Clone(all), func(a *waiter) bool {
		return !look.StaticPodsDecide(a.fence.Status.Decision.ResolvedPolicy, a.node)
	})
	if len(of) == 0 {
		return nil
	}
	node := ""
	if len(of) == 1 {
		node = of[0].fence.Spec.NodeName
	}
	pods, err := c.client.ControlPlanePods(ctx, node)
	if err != nil {
		return fmt.Errorf("read the static pods of the control plane: %w", err)
	}
	for _, a := range of {
		a.node = look.WithStaticPods(a.node, a.fence.Spec.NodeName, pods)
	}
	return nil
}

// admit decides on one fence by a ledger that has the reservations of the waiters before it, and returns the
// ledger with the reservation of this fence. An error is the answer of this waiter alone, and the ledger stays
// as it was.
func (c committer) admit(ctx context.Context, a *waiter, world *look.World, by decider, beside []*api.NodeFence, led *api.FenceLedger, now time.Time) *api.FenceLedger {
	after := led.DeepCopy()
	err := recoverPanic(func() error {
		if err := a.ctx.Err(); err != nil {
			return err // it has left while the lists were read
		}
		if a.verdict = admission.Outdated(a.fence, world.Policies, a.node, now); a.verdict != nil {
			return nil
		}
		if a.verdict = admission.Spared(a.fence, a.node); a.verdict != nil {
			return nil
		}
		p, err := world.At(after).Picture(ctx, a.fence, a.node, beside)
		if err == nil {
			a.verdict = by(a.fence, p, after, now)
		}
		return err
	})
	if err != nil {
		a.setError(err)
		return led
	}
	if a.purpose == ifFull && a.verdict == nil {
		return led
	}
	return after
}

// decider decides on one fence, and reserves on the ledger what it allows.
type decider func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict

// deciderFor returns the decider for the purpose of a waiter. fences are all fences, if checks are asked for.
func deciderFor(a *waiter, fences []api.NodeFence) decider {
	if a.dry {
		return dryDeciderFor(a, fences)
	}
	switch a.purpose {
	case forDrain:
		return admission.AdmitDrain
	case forChecks:
		return func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
			return admission.AdmitChecks(f, fences, c, l, now)
		}
	}
	return admission.Admit
}

// dryDeciderFor returns the decider for the purpose of a dry run.
func dryDeciderFor(a *waiter, fences []api.NodeFence) decider {
	q := map[purpose]admission.Question{forSlot: admission.ForSlot, forDrain: admission.ForDrain, forChecks: admission.ForChecks}[a.purpose]
	return func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		return admission.AdmitDryRun(q, f, fences, c, l, now)
	}
}

// fencesOf returns the fences of all waiters except one.
func fencesOf(all []*waiter, but *waiter) (beside []*api.NodeFence) {
	for _, a := range all {
		if a != but {
			beside = append(beside, a.fence)
		}
	}
	return beside
}

// setError makes an error the answer of a waiter. If the error is a panic of the batch, the waiter panics too.
func (a *waiter) setError(err error) {
	a.verdict = nil
	if p := (*panicked)(nil); errors.As(err, &p) {
		a.panicked = p.Error()
		return
	}
	a.err = err
}

// panicked is a panic in a batch, where no handler recovers it.
type panicked struct{ words string }

func (p *panicked) Error() string { return p.words }

// recoverPanic returns a panic of do as an error.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{fmt.Sprintf("%v\n%s", v, debug.Stack())}
		}
	}()
	return do()
}

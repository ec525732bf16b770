package gate

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

// ask asks for a slot, or whether the node may be drained, together with whoever asks beside it. Other
// programs that remediate this node are kept away first: a yes counts as soon as it is written, whoever
// goes on with it. If this process dies between the two, they are kept away for nothing until the Lease
// runs out.
func (g *Gate) ask(ctx context.Context, f *api.NodeFence, n observed.Node, drain bool) (*observed.Verdict, error) {
	if no, err := g.Remediation.Take(ctx, f); no != nil || err != nil {
		return no, err
	}
	no, err := g.slots().ask(ctx, asker{fence: f.DeepCopy(), node: n, drain: drain}, g.commit)
	if no != nil {
		g.letOthers(ctx, f)
	}
	return no, err
}

// askChecks asks whether a round of the fence's checks may begin, together with whoever asks beside it.
// Checks remediate nothing, so other programs are not kept away from the node.
func (g *Gate) askChecks(ctx context.Context, f *api.NodeFence, n observed.Node) (*observed.Verdict, error) {
	return g.slots().ask(ctx, asker{fence: f.DeepCopy(), node: n, checks: true}, g.commit)
}

// checksByJobs tells whether the asker wants to begin Jobs.
func (a *asker) checksByJobs() bool {
	return a.checks && admission.CheckJobs(&a.fence.Status.Decision.Settings) > 0
}

// slots are those of the process.
func (g *Gate) slots() *Slots {
	if g.Slots == nil {
		return &Slots{}
	}
	return g.Slots
}

// full is the no to a slot for a fence that was refused one before; nil if a slot is free. Its devices need not be resolved for that: they are once a slot is free, and before it is
// reserved (S11, S17). Who was refused in this invocation, and is to be resolved all the same, is not
// asked for again. A storm that is noticed stands in the ledger as by any other question (S15).
func (g *Gate) full(ctx context.Context, f *api.NodeFence, seen observed.Look) (*observed.Verdict, error) {
	if seen.Verdict != nil || !waitsForSlot(f) || seen.Brakes.Changed {
		return nil, nil
	}
	return g.slots().ask(ctx, asker{fence: f.DeepCopy(), node: seen.Node, looks: true}, g.commit)
}

// waitsForSlot: nothing else is known to be missing. One that has cut power, or has no device, has its
// devices resolved at each look. Who is refused a slot may not drain its node either: that asks for
// all of it, and more.
func waitsForSlot(f *api.NodeFence) bool {
	st := &f.Status
	return st.WaitsFor.OneOf(api.WaitsForSlot, api.WaitsForBudget) && !st.Begun() && len(st.Decision.Devices) > 0 && st.Decision.DevicesError == ""
}

// letOthers gives the Lease back that keeps others away, unless another invocation has reserved a slot
// for this fence meanwhile, or its node drains. If that fails, the Lease runs out by itself.
func (g *Gate) letOthers(ctx context.Context, f *api.NodeFence) {
	if g.Remediation == nil {
		return
	}
	led, err := g.Client.Ledger(ctx)
	has := func(all []api.Reservation) bool {
		return slices.ContainsFunc(all, func(r api.Reservation) bool { return r.FenceUID == f.UID })
	}
	if err == nil && !has(led.Status.Reservations) && !has(led.Status.Draining) {
		err = g.Remediation.GiveBack(ctx, f.Spec.NodeName)
	}
	if err != nil {
		g.Log.Warn("the Lease that kept others away is not given back, and runs out", "function", Name, "node", f.Spec.NodeName, "error", err.Error())
	}
}

// commit is the one atomic step for all who ask: read the ledger, then everything else,
// decide on each in turn, and write the ledger only if nobody wrote it meanwhile (S14). If
// somebody did, none is answered.
func (g *Gate) commit(ctx context.Context, all []*asker) (conflict bool) {
	for _, a := range all {
		a.answer = answer{}
	}
	err := guarded(func() error { return g.decide(ctx, all) })
	if errors.Is(err, kube.ErrConflict) {
		return true
	}
	for _, a := range all {
		if err != nil && a.err == nil && a.panicked == nil {
			a.fails(err)
		}
	}
	return false
}

// decide is one try. The time is from before all of it: by a later one, a reservation could
// be dropped whose fence has gone on since it was looked at.
func (g *Gate) decide(ctx context.Context, all []*asker) error {
	now := g.Client.Clock().Now()
	notBefore := time.Duration(0) // what the look before this action has read counts
	if len(all) > 1 {
		notBefore = g.Client.Clock().Elapsed() // they have waited for each other: others may have written an earlier ledger
	}
	led, err := g.Client.NewReader(notBefore).Ledger(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if !a.checks { // which touch no device
			a.verdict, a.err = g.reading(ctx, a.fence.Spec.NodeName, led)
		}
	}
	open := slices.DeleteFunc(slices.Clone(all), refused)
	if len(open) == 0 {
		return nil
	}
	if err := g.markPlanes(ctx, open); err != nil {
		return err
	}
	world, fences, err := g.readWorld(ctx, open, led)
	if err != nil {
		return err
	}
	was := led.DeepCopy()
	for _, a := range open {
		led = g.admit(ctx, a, world, admits(a, fences), fencesOf(all, a), led, now)
	}
	none := !slices.ContainsFunc(open, func(a *asker) bool { return !a.looks && !a.checks && !refused(a) })
	if none && (led.NotUnderstood.Any() || equality.Semantic.DeepEqual(was.Status, led.Status)) {
		return nil
	}
	_, err = g.Client.SaveLedger(ctx, led)
	return err
}

// readWorld reads the cluster. Where somebody asks for Jobs of checks, fences are all that there are: their records
// say which of them wait for a turn.
func (g *Gate) readWorld(ctx context.Context, all []*asker, led *api.FenceLedger) (world *look.World, fences []api.NodeFence, err error) {
	world, err = look.ReadWorld(ctx, g.Client.NewReader(0), led)
	if err == nil && slices.ContainsFunc(all, (*asker).checksByJobs) {
		fences, err = g.Client.Fences(ctx)
	}
	return world, fences, err
}

// markPlanes marks the nodes on which a static pod of an API server or of etcd runs, for the askers
// whose policy spares such nodes (S13). One list serves all askers.
func (g *Gate) markPlanes(ctx context.Context, all []*asker) error {
	of := slices.DeleteFunc(slices.Clone(all), func(a *asker) bool {
		return !look.StaticPodsDecide(a.fence.Status.Decision.ResolvedPolicy, a.node)
	})
	if len(of) == 0 {
		return nil
	}
	node := ""
	if len(of) == 1 {
		node = of[0].fence.Spec.NodeName
	}
	pods, err := g.Client.ControlPlanePods(ctx, node)
	if err != nil {
		return fmt.Errorf("read the static pods of the control plane: %w", err)
	}
	for _, a := range of {
		a.node = look.WithStaticPods(a.node, a.fence.Spec.NodeName, pods)
	}
	return nil
}

// admit decides on one fence by a ledger that has the reservations of those before it, and
// gives the ledger as it is after it. What goes wrong here is that fence's alone, and leaves
// the ledger as it was.
func (g *Gate) admit(ctx context.Context, a *asker, world *look.World, by admitter, beside []*api.NodeFence, led *api.FenceLedger, now time.Time) *api.FenceLedger {
	after := led.DeepCopy()
	err := guarded(func() error {
		if err := a.ctx.Err(); err != nil {
			return err // it has left while the lists were read
		}
		if a.verdict = admission.Outdated(a.fence, world.Policies, a.node, now); a.verdict != nil {
			return nil
		}
		if a.verdict = admission.Spared(a.fence, a.node); a.verdict != nil {
			return nil
		}
		c, err := world.At(after).Picture(ctx, a.fence, a.node, beside)
		if err == nil {
			a.verdict = by(a.fence, c, after, now)
		}
		return err
	})
	if err != nil {
		a.fails(err)
		return led
	}
	if a.looks && a.verdict == nil {
		return led
	}
	return after
}

// admitter decides on one fence, and reserves on the ledger what it allows.
type admitter func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict

// admits is what decides on what is asked for. fences are all that there are, where checks are asked for.
func admits(a *asker, fences []api.NodeFence) admitter {
	switch {
	case a.drain:
		return admission.AdmitDrain
	case a.checks:
		return func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
			return admission.AdmitChecks(f, fences, c, l, now)
		}
	}
	return admission.Admit
}

// fencesOf are the fences that ask in the same batch as this one.
func fencesOf(all []*asker, but *asker) (beside []*api.NodeFence) {
	for _, a := range all {
		if a != but {
			beside = append(beside, a.fence)
		}
	}
	return beside
}

// fails gives an asker an error for its answer, or has it panic as the batch did.
func (a *asker) fails(err error) {
	a.verdict = nil
	if p := (*panicked)(nil); errors.As(err, &p) {
		a.panicked = p.Error()
		return
	}
	a.err = err
}

// panicked is what went wrong in a batch, which no handler stands around.
type panicked struct{ words string }

func (p *panicked) Error() string { return p.words }

// guarded makes a panic an error.
func guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{fmt.Sprintf("%v\n%s", v, debug.Stack())}
		}
	}()
	return do()
}

package admit

import (
	"context"
	"log/slog"
	"slices"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/remediation"
)

// Admission asks for a slot, for a drain or for a round of checks, and reserves on the ledger what the limits
// allow. A verdict is a no; nil is a yes.
type Admission struct {
	Client *kube.Client
	// Remediation keeps other programs that remediate nodes away; nil if there are none.
	Remediation *remediation.Leases
	// Queue has the fences of this process decided on together; each by itself if it is nil.
	Queue *Queue
	Log   *slog.Logger
}

// Reserve asks for a slot for a fence.
func (a *Admission) Reserve(ctx context.Context, f *api.NodeFence, n observed.Node) (*observed.Verdict, error) {
	return a.ask(ctx, f, n, forSlot)
}

// AskDrain asks whether the node of a fence may be drained.
func (a *Admission) AskDrain(ctx context.Context, f *api.NodeFence, n observed.Node) (*observed.Verdict, error) {
	return a.ask(ctx, f, n, forDrain)
}

// ask asks for a slot or a drain, together with the fences that ask at the same time. Other programs that
// remediate this node are kept away first: a yes counts as soon as it is written. If this process dies before
// the answer, they are kept away until the Lease runs out.
func (a *Admission) ask(ctx context.Context, f *api.NodeFence, n observed.Node, p purpose) (*observed.Verdict, error) {
	if no, err := a.Remediation.Take(ctx, f); no != nil || err != nil {
		return no, err
	}
	no, err := a.queue().ask(ctx, waiter{fence: f.DeepCopy(), node: n, purpose: p}, committer{a.Client}.commit)
	if no != nil {
		a.letOthers(ctx, f)
	}
	return no, err
}

// AskChecks asks whether a round of the fence's checks may begin. Checks remediate nothing, so other programs
// are not kept away from the node.
func (a *Admission) AskChecks(ctx context.Context, f *api.NodeFence, n observed.Node) (*observed.Verdict, error) {
	return a.queue().ask(ctx, waiter{fence: f.DeepCopy(), node: n, purpose: forChecks}, committer{a.Client}.commit)
}

// AskDryRun asks what a fence under a policy in mode DryRun would ask under Enforce. Nothing is done to the node, so
// other programs are not kept away from it.
func (a *Admission) AskDryRun(ctx context.Context, f *api.NodeFence, n observed.Node, q admission.Question) (*observed.Verdict, error) {
	p := map[admission.Question]purpose{admission.ForSlot: forSlot, admission.ForDrain: forDrain, admission.ForChecks: forChecks}[q]
	return a.queue().ask(ctx, waiter{fence: f.DeepCopy(), node: n, purpose: p, dry: true}, committer{a.Client}.commit)
}

// queue returns the queue of the process, or one for this fence alone.
func (a *Admission) queue() *Queue {
	if a.Queue == nil {
		return &Queue{}
	}
	return a.Queue
}

// Full asks whether a slot is free for a fence that was refused one before, and takes none. Its devices need
// not be resolved for that: they are resolved once a slot is free, and before it is reserved (S11, S17). Full
// asks nothing, and returns nil, for a fence that was refused in this invocation and is to be resolved all the
// same. A storm that is noticed stands in the ledger as by any other question (S15).
func (a *Admission) Full(ctx context.Context, f *api.NodeFence, seen observed.Look) (*observed.Verdict, error) {
	if seen.Verdict != nil || !waitsForSlot(f) || seen.Brakes.Changed {
		return nil, nil
	}
	return a.queue().ask(ctx, waiter{fence: f.DeepCopy(), node: seen.Node, purpose: ifFull}, committer{a.Client}.commit)
}

// waitsForSlot tells whether nothing but a slot is known to be missing. The devices of a fence that has cut
// power, or has no device, are resolved at each look. A fence that is refused a slot may not drain its node
// either: a drain needs all that a slot needs, and more.
func waitsForSlot(f *api.NodeFence) bool {
	st := &f.Status
	return st.WaitsFor.OneOf(api.WaitsForSlot, api.WaitsForBudget) && !st.Begun() && len(st.Decision.Devices) > 0 && st.Decision.DevicesError == ""
}

// function is the name of the gate in logs.
const function = "gate"

// letOthers gives the Lease back that keeps others away, unless another invocation has reserved a slot
// for this fence meanwhile, or its node drains. If that fails, the Lease runs out by itself.
func (a *Admission) letOthers(ctx context.Context, f *api.NodeFence) {
	if a.Remediation == nil {
		return
	}
	led, err := a.Client.Ledger(ctx)
	has := func(all []api.Reservation) bool {
		return slices.ContainsFunc(all, func(r api.Reservation) bool { return r.FenceUID == f.UID })
	}
	if err == nil && !has(led.Status.Reservations) && !has(led.Status.Draining) {
		err = a.Remediation.GiveBack(ctx, f.Spec.NodeName)
	}
	if err != nil {
		a.Log.Warn("the Lease that kept others away is not given back, and runs out", "function", function, "node", f.Spec.NodeName, "error", err.Error())
	}
}

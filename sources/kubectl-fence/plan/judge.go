package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// invalid are what somebody has to correct besides the permanent holds of the table.
var invalid = []api.Reason{api.BindingInvalid, api.PauseWindowInvalid}

// judge asks the automaton and the ledger's own rule for their verdict on a decision, as if the node had
// failed long enough ago.
func (w *world) judge(ctx context.Context, r *Report, n *corev1.Node, dec api.Decision) error {
	record := w.record(n.Name)
	if r.heldByRecord(record) {
		return nil
	}
	now := w.Client.Clock().Now()
	f, seen := failedNode(n, record, dec, now)
	w.markPlane(r, n.Name, &seen)
	r.noteReboot(seen.Node)
	if err := look.Brakes(ctx, w.Client.NewReader(0), f, &seen, true); err != nil {
		return err
	}
	if err := w.deletion(ctx, r, f, &seen); err != nil {
		return err
	}
	reason, message, err := w.decided(ctx, r, f, seen, now)
	if err != nil {
		return err
	}
	words := fmt.Sprintf("%s: %s", reason, message)
	switch {
	case hold.Permanent(reason) || slices.Contains(invalid, reason):
		r.Refused = words
	case reason == "":
		r.Now = wouldBegin
	case reason == api.WaitingForApproval:
		r.Now = wouldAsk + words
	case reason == api.DryRun:
		r.Now = words
	default:
		r.Now = "would be held: " + words
	}
	if asleep := view.WithoutAges(w.seen().SourceAbsent()); r.Refused == "" && asleep != "" {
		asleep += " (" + string(api.LeasePictureOld) + ")"
		if r.Now = asleep + "; while it runs: " + r.Now; reason == api.LeasePictureOld {
			r.Now = asleep
		}
	}
	return nil
}

// seen is what was read, for the words of package view.
func (w *world) seen() *view.Seen {
	return &view.Seen{Policies: w.lists.Policies, Fences: w.lists.Fences, Ledger: w.ledger, Source: w.source, SourceRead: w.sourceRead, Namespace: w.Settings.Namespace, Now: w.Client.Clock().Now()}
}

// noteReboot notes a planned reboot. It holds a fence for some time after the failure, and the plan is about a later
// time.
func (r *Report) noteReboot(n observed.Node) {
	for _, h := range hold.All(hold.Input{Policy: *r.Policy, Node: n}, hold.ByNode) {
		if h.Reason == api.RebootUnderWay {
			r.Notes = append(r.Notes, h.Message)
		}
	}
}

// markPlane marks a control-plane node that the gate would know by a static pod.
func (w *world) markPlane(r *Report, node string, seen *observed.Look) {
	if !look.StaticPodsDecide(*r.Policy, seen.Node) {
		return
	}
	if w.planePodsUnread != "" {
		r.Notes = append(r.Notes, w.planePodsUnread)
	}
	seen.Node = look.WithStaticPods(seen.Node, node, w.planePods)
}

// deletion reads whether the node's Machine is being deleted. nodefence has the right to read it: that
// the user has not says nothing about the fence.
func (w *world) deletion(ctx context.Context, r *Report, f *api.NodeFence, seen *observed.Look) error {
	err := look.MachineDeletion(ctx, w.Client.NewReader(0), f, seen)
	unlearnt, ok := errors.AsType[*look.Unlearnt](err)
	switch {
	case ok && apierrors.IsForbidden(err):
		r.Notes = append(r.Notes, "the node's Machine was not looked at: "+unlearnt.Error())
	case ok:
		seen.Node.Deleting = unlearnt.Error()
	default:
		return err
	}
	return nil
}

// decided is the reason for which the fence would be held; empty if it would begin. One that a person
// must approve is tried once more with that: what would then hold it is the reason.
func (w *world) decided(ctx context.Context, r *Report, f *api.NodeFence, seen observed.Look, now time.Time) (reason api.Reason, message string, err error) {
	c, err := w.lists.Picture(ctx, w.Client, f)
	if apierrors.IsForbidden(err) { // the pods of etcd, which were read before with everything else
		r.Notes = append(r.Notes, "etcd's members were not looked at: "+err.Error())
	} else if err != nil {
		return "", "", err
	}
	r.limited(c)
	f.Status, _ = fence.Decide(f, seen, now.Add(-longAgo))
	f.Status.ApprovalSince = nil // no person was asked at that time
	reason, message = w.tried(f, seen, c, now)
	if reason != api.WaitingForApproval {
		return reason, message, nil
	}
	f.Spec.Requests.Approve = &api.Request{FenceNumber: f.Status.FenceNumber, By: "plan", At: metav1.NewTime(now)}
	if after, why := w.tried(f, seen, c, now); after != "" {
		return after, why + "; before that " + message, nil
	}
	return reason, message, nil
}

// tried is the reason for which this fence would be held; empty if it would begin.
func (w *world) tried(f *api.NodeFence, seen observed.Look, c admission.Picture, now time.Time) (api.Reason, string) {
	for range 3 {
		var act fence.Action
		switch f.Status, act = fence.Decide(f, seen, now); act {
		case fence.AskChecks:
			seen.Verdict = w.admit(f, c, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
				return admission.AdmitChecks(f, w.lists.Fences, c, l, now)
			})
			seen.MayCheck = seen.Verdict == nil
		case fence.Reserve:
			if seen.Verdict = w.admit(f, c, admission.Admit); seen.Verdict == nil {
				return "", ""
			}
		case fence.DryReserve, fence.DryDrain, fence.DryChecks:
			w.rehearse(act, f, &seen, c)
			if v := seen.Verdict; v != nil && v.Reason == api.LeasePictureOld {
				return v.Reason, v.Message
			}
		default:
			return f.Status.Reason, f.Status.Message
		}
	}
	return f.Status.Reason, f.Status.Message
}

// rehearse asks the ledger's rule in a dry run, and has the next look show the answer.
func (w *world) rehearse(act fence.Action, f *api.NodeFence, seen *observed.Look, c admission.Picture) {
	q := map[fence.Action]admission.Question{fence.DryReserve: admission.ForSlot, fence.DryDrain: admission.ForDrain, fence.DryChecks: admission.ForChecks}[act]
	seen.Verdict = w.admit(f, c, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		return admission.AdmitDryRun(q, f, w.lists.Fences, c, l, now)
	})
	switch {
	case seen.Verdict != nil:
	case act == fence.DryChecks:
		seen.DryChecks = true
	default:
		seen.DryRun = &observed.DryRun{At: w.Client.Clock().Now(), Drain: act == fence.DryDrain}
	}
}

// limited warns of limits under which no fence could begin, even if all other nodes were
// healthy.
func (r *Report) limited(c admission.Picture) {
	for _, l := range r.Policy.Limits {
		if why := admission.NeverBegins(l, c, r.Node); why != "" {
			r.Notes = append(r.Notes, why)
		}
	}
}

// heldByRecord tells whether the node's record, nil if it has none, lets no fence open, and says so.
func (r *Report) heldByRecord(f *api.NodeFence) bool {
	switch {
	case f == nil:
		return false
	case f.Open():
		r.UnderWay = true
		r.Now = fmt.Sprintf("a fence is under way: %s, %s: %s", f.CurrentPhase(), f.Status.Reason, f.Status.Message)
	case fence.Foreign(f.Status):
		r.Now = "would be held: a newer nodefence wrote the record of this node, and this one leaves it alone: upgrade nodefence"
	default:
		return false
	}
	return true
}

// record is a copy of the node's record; nil if it has none.
func (w *world) record(node string) *api.NodeFence {
	for i := range w.lists.Fences {
		if f := &w.lists.Fences[i]; f.Spec.NodeName == node {
			return f.DeepCopy()
		}
	}
	return nil
}

// longAgo is how long the node has failed: longer than any policy waits.
const longAgo = 48 * time.Hour

// failedNode returns a fence of a node that has failed, and the look that would find it. It opens as
// the gate opens one, from the node's record, nil if it has none: the cuts of the last day count, and a
// device that refused the account is left alone (S26).
func failedNode(n *corev1.Node, f *api.NodeFence, dec api.Decision, now time.Time) (*api.NodeFence, observed.Look) {
	if f == nil {
		f = &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: n.Name}}
		f.Name, f.UID = n.Name, "plan"
	}
	long := time.Unix(0, 0).UTC()
	seen := observed.Look{Me: "plan", Node: look.NodeFrom(n, string(f.UID)), Resolved: true}
	seen.Node.Conditions = nil
	if all := dec.Settings.UnhealthyConditions; len(all) > 0 {
		seen.Node.Conditions = []observed.Condition{{Type: all[0].Type, Status: all[0].Status, Since: long}}
		dec.Trigger, _ = observed.TriggerOf(dec.ResolvedPolicy, seen.Node)
	}
	dec.NodeUID = n.UID
	f.Finalizers, f.Spec.Requests = []string{api.Finalizer}, api.Requests{}
	f.Status.Claim, f.Status.Lease = nil, api.LeaseRecord{} // of this fence no call was made, and no Lease is looked at
	f.Status = fence.Opening(f, dec, now.Add(-longAgo))
	return f, seen
}

// admit asks the ledger's rule on a copy, with the node counted as failed.
func (w *world) admit(f *api.NodeFence, c admission.Picture, by func(*api.NodeFence, admission.Picture, *api.FenceLedger, time.Time) *observed.Verdict) *observed.Verdict {
	c.Nodes = slices.Clone(c.Nodes)
	for i := range c.Nodes {
		if c.Nodes[i].Name == f.Spec.NodeName {
			c.Nodes[i].Unhealthy = true
		}
	}
	return by(f, c, w.ledger.DeepCopy(), w.Client.Clock().Now())
}

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/functions/gate/admit"
	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
)

// Look sees what fence.Needs names.
func (g *Gate) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	l := look.Looker{Client: g.Client, Self: g.Self, Namespace: g.Namespace}
	if err := l.At(ctx, f, seen, notBefore); err != nil {
		return err
	}
	return g.keepWentBack(ctx)
}

// keepWentBack has the others hold too, once this process has seen the API server's
// state go back in time (S16).
func (g *Gate) keepWentBack(ctx context.Context) error {
	if g.Client.WentBack() == nil {
		return nil
	}
	led, err := g.Client.Ledger(ctx)
	if err != nil {
		return err
	}
	_, err = g.Client.SaveLedger(ctx, led)
	if errors.Is(err, kube.ErrConflict) {
		return nil // the next look tries again
	}
	return err
}

// Act resolves the binding, where a slot may be had, asks for a round of checks, makes its checks, or reserves
// a slot. For a dry run it asks the same, and does nothing besides.
func (g *Gate) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (r loop.Result, err error) {
	switch a {
	case fence.Resolve:
		if r.Verdict, err = g.admission().Full(ctx, f, seen); r.Verdict != nil || err != nil {
			return r, err
		}
		return g.resolve(ctx, f, seen.Node)
	case fence.AskChecks:
		r.Verdict, err = g.admission().AskChecks(ctx, f, seen.Node)
	case fence.Check:
		r.Checked, err = g.checker().Check(ctx, f)
	case fence.AskDrain:
		r.Verdict, err = g.admission().AskDrain(ctx, f, seen.Node)
	case fence.Reserve:
		r.Verdict, err = g.admission().Reserve(ctx, f, seen.Node)
	case fence.DryReserve:
		r.Verdict, err = g.admission().AskDryRun(ctx, f, seen.Node, admission.ForSlot)
	case fence.DryDrain:
		r.Verdict, err = g.admission().AskDryRun(ctx, f, seen.Node, admission.ForDrain)
	case fence.DryChecks:
		r.Verdict, err = g.admission().AskDryRun(ctx, f, seen.Node, admission.ForChecks)
	default:
		err = fmt.Errorf("the gate can't %s", a)
	}
	return r, err
}

// admission asks for what the ledger bounds.
func (g *Gate) admission() *admit.Admission {
	return &admit.Admission{Client: g.Client, Remediation: g.Remediation, Queue: g.Queue, Log: g.Log}
}

// checker makes the checks of fences.
func (g *Gate) checker() *checks.Checker {
	return &checks.Checker{Client: g.Client, Self: g.Self, Namespace: g.Checks, Networks: g.Networks, KubeletPort: g.KubeletPort, NeighborsImage: g.NeighborsImage, Log: g.Log}
}

// resolve writes what the policies and the ConfigMaps as they stand say of the node, or why
// no device is bound, into the decision, where it says something else.
func (g *Gate) resolve(ctx context.Context, f *api.NodeFence, seen observed.Node) (r loop.Result, err error) {
	reader := g.Client.NewReader(0) // what the look before this action has read counts
	n, err := reader.Node(ctx, f.Spec.NodeName)
	if err != nil {
		return r, err
	}
	if n == nil && f.Status.Decision.Trigger.Missing() {
		n = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.Spec.NodeName}}
	}
	if n == nil {
		return r, nil
	}
	policies, err := look.PoliciesFor(ctx, reader, f, false) // the reservation holds the fence against those of its own picture
	if err != nil {
		return r, err
	}
	renewed := f.DeepCopy()
	admission.Renew(renewed, policies, seen, g.Client.Clock().Now())
	if err := g.rebind(ctx, n, renewed); err != nil {
		return r, err
	}
	r.Resolved = true
	if !equality.Semantic.DeepEqual(f.Status.Decision, renewed.Status.Decision) {
		r.Record, err = g.Client.SaveFenceStatus(ctx, renewed)
	}
	return r, err
}

// rebind writes the devices that are configured now into a record. Of those by which
// something was switched off only how they are spoken with is renewed. A person's word that the
// machine is off has the devices read also under an action that needs none (S2).
func (g *Gate) rebind(ctx context.Context, n *corev1.Node, f *api.NodeFence) error {
	p := f.Status.Decision.ResolvedPolicy
	reads := p.Settings.Action.Reads() || f.Requests().ConfirmOff != nil
	if !reads || p.Settings.Conflict != "" || f.Status.Decision.Trigger.OnlyMachine() {
		return nil
	}
	b, err := g.Bind(ctx, n)
	var refused *config.Refused
	stay, bound := facts.DevicesStay(f), len(f.Status.Decision.Devices) > 0
	switch {
	case errors.As(err, &refused) && stay && bound:
		return nil
	case errors.As(err, &refused):
		f.Status.Decision.DevicesError = fits(refused.Error())
		f.Status.Decision.Devices = nil
		return nil
	case err != nil:
		return err
	case stay && bound && !same(b.Devices, f.Status.Decision.Devices):
		return nil
	}
	f.Status.Decision.DevicesError = ""
	if stay {
		trustAsCut(b.Devices, f.Status.Decision.Devices)
	} else {
		b.Over(&f.Status.Decision.ResolvedPolicy)
	}
	f.Status.Decision.Devices = b.Devices
	return nil
}

// trustAsCut clears the fault of an identity that had none when a machine was switched off by it, though
// another node reports the same identity since: the fence runs to its end (S25). now are the devices as
// they were just resolved, and had the same devices as the record has them.
func trustAsCut(now, had []api.Binding) {
	for i := range now[:min(len(now), len(had))] {
		if had[i].IdentityFault == "" && had[i].Identity == now[i].Identity {
			now[i].IdentityFault = ""
		}
	}
}

// longestError is the API's.
const longestError = 4096

// fits keeps an error short enough for a decision.
func fits(s string) string { return clip.To(longestError, s) }

// same tells whether these are the devices that a decision has, however they are spoken with.
func same(now, had []api.Binding) bool {
	return slices.EqualFunc(now, had, func(x, y api.Binding) bool {
		return x.Name == y.Name && x.Driver == y.Driver && x.Address == y.Address
	})
}

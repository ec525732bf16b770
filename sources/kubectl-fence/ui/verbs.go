package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// given is what the person has typed or chosen.
type given struct {
	act.Person
	// as is the name under which a policy is paused; empty for the person's own.
	as       string
	hardware bool
	// drain is how a node that still lives is drained first; empty for IfReady.
	drain string
}

// building is an act on what was read, as the person has filled in its form. It reads nothing more: what
// is compared with what they were shown is what is then written.
type building func(given) (prepared, error)

// prepared is an act that is ready to be carried out.
type prepared struct {
	says []string
	// shown identifies what the person was shown.
	shown, done, as string
	carry           func(context.Context) error
}

// reading reads what an act on something of that name is about.
type reading func(ctx context.Context, s *Server, name string) (building, error)

// verb is one thing that people can do.
type verb struct {
	asks string
	// of is what it is about: a node, a policy, or the cluster.
	of                              string
	takesReason, needsReason, typed bool
	// drains: the person says whether the node is drained first.
	drains bool
	// read reads what it is about, once.
	read reading
}

func (v verb) question(name string) string {
	if v.of == "cluster" {
		return v.asks
	}
	return fmt.Sprintf(v.asks, name)
}

// back is the page of what it is about.
func (v verb) back(name string) string {
	switch v.of {
	case "node":
		return "/node/" + name
	case "policy":
		return "/policies"
	}
	return "/"
}

// verbs are all of them, by the name that the plugin's command has.
var verbs = map[string]verb{
	"approve":         {asks: "Approve the fence of node %s", of: "node", takesReason: true, read: onFence(act.Approve)},
	"abort":           {asks: "Abort the fence of node %s", of: "node", takesReason: true, read: onFence(act.Abort)},
	"retry":           {asks: "Retry the fence of node %s", of: "node", takesReason: true, read: onFence(act.Retry)},
	"lift":            {asks: "Give node %s back", of: "node", takesReason: true, read: onFence(act.Lift)},
	"confirm-off":     {asks: "Confirm that the machine of node %s is off", of: "node", takesReason: true, typed: true, read: changing(fenceOf, confirmOff)},
	"trust":           {asks: "Trust the device of node %s again", of: "node", needsReason: true, typed: true, read: onFence(act.Trust)},
	"ask":             {asks: "Ask for a fence of node %s", of: "node", needsReason: true, drains: true, read: askFor},
	"pause":           {asks: "Pause policy %s", of: "policy", read: changing(policyOf, pause)},
	"resume":          {asks: "Resume policy %s", of: "policy", read: changing(pausedOf, resume)},
	"stop":            {asks: "Stop all fencing", of: "cluster", takesReason: true, read: changing(ledgerOf, func(l *api.FenceLedger, in *given) (act.Change, error) { return act.Stop(l, in.Reason) })},
	"start":           {asks: "Let fences begin again", of: "cluster", read: changing(ledgerOf, func(l *api.FenceLedger, _ *given) (act.Change, error) { return act.Start(l) })},
	"end-cool-down":   {asks: "End the cool-downs after storms", of: "cluster", needsReason: true, read: onLedger(act.EndCoolDown)},
	"confirm-restore": {asks: "Confirm that the API server was restored", of: "cluster", read: onLedger(act.ConfirmRestore)},
}

// changing is an act that is one write, built from what the API server has. build fills in what the
// person has left open.
func changing[T any](get func(context.Context, *Server, string) (*T, error), build func(*T, *given) (act.Change, error)) reading {
	return func(ctx context.Context, s *Server, name string) (building, error) {
		o, err := get(ctx, s, name)
		if err != nil {
			return nil, err
		}
		return func(in given) (prepared, error) {
			ch, err := build(o, &in)
			if err != nil {
				return prepared{}, err
			}
			ch = ch.NamedBy(in.Person, s.Client.Now())
			anew := func(ctx context.Context) (act.Change, error) {
				now, err := get(ctx, s, name)
				if err != nil {
					return act.Change{}, err
				}
				ch, err := build(now, &in)
				return ch.NamedBy(in.Person, s.Client.Now()), err
			}
			carry := func(ctx context.Context) error { return s.Client.Carry(ctx, ch, cluster.DryRunNone, anew) }
			return prepared{says: ch.Says, shown: ch.Shown(), done: ch.Done, as: in.as, carry: carry}, nil
		}, nil
	}
}

func onFence(build func(*api.NodeFence, act.Person) (act.Change, error)) reading {
	return changing(fenceOf, func(f *api.NodeFence, in *given) (act.Change, error) { return build(f, in.Person) })
}

func fenceOf(ctx context.Context, s *Server, node string) (*api.NodeFence, error) {
	f, err := s.Client.Fence(ctx, node)
	return f, cluster.NoSuch(err, "fence of node", node, "look at the page of all nodes")
}

func confirmOff(f *api.NodeFence, in *given) (act.Change, error) {
	var as api.OutOfServiceValue
	if in.hardware {
		as = api.HardwareFailure
	}
	return act.ConfirmOff(f, in.Person, as)
}

// pause pauses a policy under the person's own name unless they say another.
func pause(p *api.FencePolicy, in *given) (act.Change, error) {
	in.as = cmp.Or(in.as, in.Name)
	return act.Pause(p, in.as)
}

// paused is a policy, and the ledger, which may hold fences when the policy does so no more.
type paused struct {
	policy *api.FencePolicy
	ledger *api.FenceLedger
}

func pausedOf(ctx context.Context, s *Server, name string) (*paused, error) {
	p, err := policyOf(ctx, s, name)
	if err != nil {
		return nil, err
	}
	l, err := s.Client.LedgerIfSeen(ctx)
	return &paused{p, l}, err
}

func resume(x *paused, in *given) (act.Change, error) {
	in.as = cmp.Or(in.as, whoPauses(x.policy, in.Name))
	return act.Resume(x.policy, x.ledger, in.as)
}

// whoPauses is the name that a person takes out unless they say another: their own, if it is there.
func whoPauses(p *api.FencePolicy, user string) string {
	if names := p.Spec.PauseRequests; len(names) > 0 && !slices.Contains(names, user) {
		return names[0]
	}
	return user
}

func policyOf(ctx context.Context, s *Server, name string) (*api.FencePolicy, error) {
	p, err := s.Client.Policy(ctx, name)
	return p, cluster.NoSuch(err, "FencePolicy", name, "look at the page of all policies")
}

func onLedger(build func(*api.FenceLedger, act.Person) (act.Change, error)) reading {
	return changing(ledgerOf, func(l *api.FenceLedger, in *given) (act.Change, error) { return build(l, in.Person) })
}

func ledgerOf(ctx context.Context, s *Server, _ string) (*api.FenceLedger, error) {
	l, err := s.Client.Ledger(ctx)
	return l, cluster.NoSuch(err, "FenceLedger", api.LedgerName, cluster.LedgerRemedy)
}

// askFor prepares a FenceRequest, from what the API server has now: what the pages show may be older.
// What it will do is said before the person has said why.
func askFor(ctx context.Context, s *Server, node string) (building, error) {
	seen, err := s.Client.Look(ctx)
	if err != nil {
		return nil, err
	}
	n := seen.Node(node)
	if n == nil {
		return nil, view.NoSuchNode(node, seen.Names())
	}
	_, resolved := seen.Deciding(node)
	return func(in given) (prepared, error) {
		who := in.Person
		who.Reason = cmp.Or(who.Reason, "…")
		q, says, err := act.Ask(node, s.Namespace, who, resolved, look.NodeFrom(n, ""), seen.Target(node), seen.Fence(node))
		if err == nil {
			_, err = act.Drain(q, cmp.Or(in.drain, string(api.DrainIfReady))) // the form says what each choice does
		}
		if err != nil {
			return prepared{}, err
		}
		carry := func(ctx context.Context) error {
			_, err := s.Client.Ask(ctx, q, cluster.DryRunNone)
			return err
		}
		return prepared{says: says, shown: act.Digest(node, n.UID, says), carry: carry, done: fmt.Sprintf("a FenceRequest for node %s was created by %s in namespace %s", node, who.Name, q.Namespace)}, nil
	}, nil
}

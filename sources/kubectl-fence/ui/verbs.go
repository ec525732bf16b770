package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// given is what the person has typed.
type given struct {
	act.Person
	// as is the name under which a policy is paused; empty for the person's own.
	as       string
	hardware bool
}

// prepared is an act that is ready to be carried out.
type prepared struct {
	says []string
	// shown identifies what the person was shown.
	shown, done, as string
	at              metav1.Time
	carry           func(context.Context) error
}

// verb is one thing that people can do.
type verb struct {
	asks string
	// of is what it is about: a node, a policy, or the cluster.
	of                              string
	takesReason, needsReason, typed bool
	prepare                         func(context.Context, *Server, string, given) (prepared, error)
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
	"approve":     {asks: "Approve the fence of node %s", of: "node", takesReason: true, prepare: onFence(act.Approve)},
	"abort":       {asks: "Abort the fence of node %s", of: "node", takesReason: true, prepare: onFence(act.Abort)},
	"retry":       {asks: "Retry the fence of node %s", of: "node", takesReason: true, prepare: onFence(act.Retry)},
	"lift":        {asks: "Give node %s back", of: "node", takesReason: true, prepare: onFence(act.Lift)},
	"confirm-off": {asks: "Confirm that the machine of node %s is off", of: "node", takesReason: true, typed: true, prepare: confirmOff},
	"ask":         {asks: "Ask for a fence of node %s", of: "node", needsReason: true, prepare: askFor},
	"pause":       {asks: "Pause policy %s", of: "policy", prepare: onPolicy(act.Pause, ownName)},
	"resume":      {asks: "Resume policy %s", of: "policy", prepare: onPolicy(act.Resume, whoPauses)},
	"stop":        {asks: "Stop all fencing", of: "cluster", takesReason: true, prepare: onLedger(func(l *api.FenceLedger, in given) (act.Change, error) { return act.Stop(l, in.Reason) })},
	"start":       {asks: "Let fences begin again", of: "cluster", prepare: onLedger(func(l *api.FenceLedger, _ given) (act.Change, error) { return act.Start(l) })},
}

// change is an act that is one write. It is built from what the API server has now.
func (s *Server) change(ctx context.Context, in given, build func(context.Context) (act.Change, error)) (prepared, error) {
	ch, err := build(ctx)
	if err != nil {
		return prepared{}, err
	}
	carry := func(ctx context.Context) error { return s.Client.Carry(ctx, ch, cluster.DryRunNone, build) }
	return prepared{says: ch.Says, shown: ch.Shown(), done: ch.Done, at: in.At, carry: carry}, nil
}

func onFence(build func(*api.NodeFence, act.Person) (act.Change, error)) func(context.Context, *Server, string, given) (prepared, error) {
	return func(ctx context.Context, s *Server, name string, in given) (prepared, error) {
		return s.change(ctx, in, func(ctx context.Context) (act.Change, error) {
			f, err := s.Client.Fence(ctx, name)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "fence of node", name, "look at the page of all nodes")
			}
			return build(f, in.Person)
		})
	}
}

func confirmOff(ctx context.Context, s *Server, name string, in given) (prepared, error) {
	var as api.OutOfServiceValue
	if in.hardware {
		as = api.HardwareFailure
	}
	return onFence(func(f *api.NodeFence, p act.Person) (act.Change, error) { return act.ConfirmOff(f, p, as) })(ctx, s, name, in)
}

// ownName is the name under which a person pauses a policy unless they say another.
func ownName(_ *api.FencePolicy, user string) string { return user }

// whoPauses is the name that a person takes out unless they say another: their own, if it is there.
func whoPauses(p *api.FencePolicy, user string) string {
	if names := p.Spec.PauseRequests; len(names) > 0 && !slices.Contains(names, user) {
		return names[0]
	}
	return user
}

func onPolicy(build func(*api.FencePolicy, string) (act.Change, error), usual func(*api.FencePolicy, string) string) func(context.Context, *Server, string, given) (prepared, error) {
	return func(ctx context.Context, s *Server, name string, in given) (prepared, error) {
		as := in.as
		out, err := s.change(ctx, in, func(ctx context.Context) (act.Change, error) {
			p, err := s.Client.Policy(ctx, name)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FencePolicy", name, "look at the page of all policies")
			}
			as = cmp.Or(in.as, usual(p, s.User))
			return build(p, as)
		})
		out.as = as
		return out, err
	}
}

func onLedger(build func(*api.FenceLedger, given) (act.Change, error)) func(context.Context, *Server, string, given) (prepared, error) {
	return func(ctx context.Context, s *Server, _ string, in given) (prepared, error) {
		return s.change(ctx, in, func(ctx context.Context) (act.Change, error) {
			l, err := s.Client.Ledger(ctx)
			if err != nil {
				return act.Change{}, cluster.NoSuch(err, "FenceLedger", api.LedgerName, "kubectl apply -f infra/crd/ledger")
			}
			return build(l, in)
		})
	}
}

// askFor prepares a FenceRequest. What it will do is said before the person has said why.
func askFor(ctx context.Context, s *Server, node string, in given) (prepared, error) {
	seen := s.mirror.Seen(in.At.Time)
	if seen.Node(node) == nil {
		return prepared{}, view.NoSuchNode(node, seen.Names())
	}
	who := in.Person
	who.Reason = cmp.Or(who.Reason, "…")
	_, resolved := seen.Deciding(node)
	q, says, err := act.Ask(node, s.Namespace, who, resolved, seen.Target(node), seen.Fence(node))
	if err != nil {
		return prepared{}, err
	}
	carry := func(ctx context.Context) error {
		if in.Reason == "" {
			return fmt.Errorf("say why node %s is to be fenced, for those who read it later", node)
		}
		_, err := s.Client.Ask(ctx, q, cluster.DryRunNone)
		return err
	}
	return prepared{says: says, shown: act.Digest(node, says), at: in.At, carry: carry, done: fmt.Sprintf("a FenceRequest for node %s was created by %s in namespace %s", node, who.Name, q.Namespace)}, nil
}

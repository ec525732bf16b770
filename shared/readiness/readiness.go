package readiness

import (
	"context"
	"errors"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

func (u *Unfit) Error() string { return u.Err.Error() }

// Unwrap returns the configuration's own error.
func (u *Unfit) Unwrap() error { return u.Err }

// Asks reports whether the event is a node's turn to be checked.
func Asks(e event.Event) bool {
	return e.Type() == events.NodeCheck || e.Type() == events.NodeCheckIsolation
}

// Handle reads one device of a healthy node, or replies with the event that passes the turn
// on to the function that calls this device. The event is a hint: the read is made only in
// a turn that is in the ledger, under a claim on the FenceTarget, and only if no fence of
// the node is open after the claim is saved (S7: one device call at a time; see gate's
// reading).
func (k *Checker) Handle(ctx context.Context, node string, e event.Event) (*event.Event, error) {
	led, err := k.Client.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	now := k.Client.Clock().Now()
	turn, ok := led.Status.Turn(node)
	if !ok || now.Add(longest).After(turn.Time) { // in less time, a slow device would look like a missing one
		k.Reporter.Ignored(ctx, k.Function, e, "NoTurn")
		return nil, nil
	}
	n, err := k.Client.Node(ctx, node)
	if err != nil || n == nil {
		return nil, err
	}
	t, err := k.Client.Target(ctx, node)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Status.Claim != nil && now.Before(t.Status.Claim.NotAfter.Time) {
		return nil, nil // another process is reading
	}
	c := checking{Checker: k, node: n, ledger: led, target: targetOf(t, n), began: turn.Add(-api.CheckTurn - clocksDiffer), until: turn.Time, cause: e}
	c.before = c.target.DeepCopy()
	if was := meta.FindStatusCondition(c.before.Status.Conditions, api.Fenceable); was != nil && was.Reason == string(api.CutRefuted) {
		c.refuted = was.Message
	}
	c.target.Status.Claim = nil
	reply, err := c.run(ctx)
	if errors.Is(err, kube.ErrConflict) {
		return nil, nil // another process was quicker
	}
	return reply, err
}

// targetOf returns the present FenceTarget. Observations of another Node object of the same
// name do not count.
func targetOf(t *api.FenceTarget, n *corev1.Node) *api.FenceTarget {
	if t == nil {
		t = &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	}
	t = t.DeepCopy()
	if t.Status.NodeUID != n.UID {
		t.Status = api.FenceTargetStatus{NodeUID: n.UID}
	}
	return t
}

// run binds the node's devices, and reads the device whose turn it is.
func (c *checking) run(ctx context.Context) (*event.Event, error) {
	resolved, err := c.Devices(ctx, Asked{c.node, c.target, c.ledger})
	var unfit *Unfit
	if err != nil && !errors.As(err, &unfit) {
		return nil, err
	}
	st, bound := &c.target.Status, resolved.Devices
	st.Binding = resolved.Binding
	if c.Cuts {
		return nil, c.handed(ctx, bound)
	}
	if wish := c.target.AskedNow(); wish != "" && (st.CheckNow == nil || st.CheckNow.Value != wish) {
		st.CheckNow = &api.CheckNow{Value: wish, At: c.now()}
	}
	if unfit != nil {
		st.Devices = nil
		return nil, c.conclude(ctx, unfit)
	}
	st.Devices = devicesOf(bound, st.Devices)
	i, ok := oldest(st, c.now().Add(-c.DeniedRest))
	if !ok {
		return nil, c.conclude(ctx, nil)
	}
	switch last := asked(st.Devices[i]); {
	case last != nil && !last.Time.Before(c.began):
		return nil, c.conclude(ctx, nil) // this device had its turn
	case bound[i].Role.Cuts():
		return c.hand(ctx, i)
	}
	return nil, c.read(ctx, i, &bound[i])
}

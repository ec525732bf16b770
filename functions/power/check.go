package power

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/step"
	"github.com/nodefence/nodefence/shared/talk"
)

// checkCall is the longest that a check may keep a device to itself: as long as a
// fence's own call, so that a device which is too slow for a fence shows.
const checkCall = 20 * time.Second

// clocksDiffer is more than two ideas of the API server's time do: a call is over
// by so much before its claim is.
const clocksDiffer = 2 * time.Second

// Unfit is why a node has no device: what is wrong in its configuration, with the
// object and the key to mend.
type Unfit struct {
	Reason api.Reason
	Err    error
}

func (u *Unfit) Error() string { return u.Err.Error() }

// Unwrap gives the configuration's own error.
func (u *Unfit) Unwrap() error { return u.Err }

// check reads one device of a healthy node, and says in its FenceTarget whether
// the node could be fenced. The event is a hint: the read is made only in a turn
// that stands in the ledger, under a claim on the FenceTarget, and only if no fence
// of the node is open once the claim stands (S7; see gate's reading).
func (p *Power) check(ctx context.Context, node string, e event.Event) error {
	p.Client.Forget(ctx)
	led, err := p.Client.Ledger(ctx)
	if err != nil {
		return err
	}
	now := p.Client.Clock().Now()
	turn, ok := led.Status.Checks[node]
	if !ok || now.Add(checkCall).After(turn.Time) { // in less time, a slow device would look like none
		p.Witness.Ignored(ctx, Name, e, "NoTurn")
		return nil
	}
	n, err := p.Client.Node(ctx, node)
	if err != nil || n == nil {
		return err
	}
	t, err := p.Client.Target(ctx, node)
	if err != nil {
		return err
	}
	if t != nil && t.Status.Claim != nil && now.Before(t.Status.Claim.NotAfter.Time) {
		return nil // somebody else is at it
	}
	c := checking{Power: p, node: n, target: targetOf(t, n), began: turn.Add(-api.CheckTurn - clocksDiffer), cause: e}
	c.before = c.target.DeepCopy()
	c.target.Status.Claim = nil
	err = c.run(ctx)
	if errors.Is(err, kube.ErrConflict) {
		return nil // somebody else was quicker
	}
	return err
}

// checking is one check.
type checking struct {
	*Power
	node   *corev1.Node
	before *api.FenceTarget
	target *api.FenceTarget
	// began is from when what was seen is of this turn.
	began time.Time
	cause event.Event
}

// targetOf is the FenceTarget as it stands; what was seen of another Node object
// of the name counts for nothing.
func targetOf(t *api.FenceTarget, n *corev1.Node) *api.FenceTarget {
	if t == nil {
		t = &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	}
	t = t.DeepCopy()
	if t.Status.NodeUID != n.UID {
		t.Status = api.FenceTargetStatus{Node: n.Name, NodeUID: n.UID}
	}
	return t
}

// run binds the node's devices, and reads the one that was not read for longest.
func (c *checking) run(ctx context.Context) error {
	bound, err := c.Devices(ctx, c.node)
	var unfit *Unfit
	if err != nil && !errors.As(err, &unfit) {
		return err
	}
	st := &c.target.Status
	if unfit != nil {
		st.Devices = nil
		return c.conclude(ctx, unfit)
	}
	st.Devices = devicesOf(bound, st.Devices)
	i := oldest(st.Devices)
	if last := st.Devices[i].LastChecked; last != nil && !last.Time.Before(c.began) {
		return c.conclude(ctx, nil) // it had its turn
	}
	now := c.Client.Clock().Now().UTC()
	summarise(c.target, nil, metav1.NewMicroTime(now)) // which stands where a fence comes between
	st.Claim = &api.TargetClaim{Holder: c.Loop.Me(), At: metav1.NewMicroTime(now), NotAfter: metav1.NewMicroTime(now.Add(checkCall))}
	if err := c.save(ctx); err != nil {
		return err
	}
	read, err := c.readOne(ctx, i, &bound[i])
	c.target.Status.Claim = nil
	if !read || err != nil {
		return errors.Join(err, c.save(ctx))
	}
	return c.conclude(ctx, nil)
}

// readOne reads a device under the claim that has just been saved, unless a fence
// is open: that comes first, and speaks with the device itself.
func (c *checking) readOne(ctx context.Context, i int, b *api.Binding) (read bool, err error) {
	f, err := c.Client.Fence(ctx, c.node.Name)
	if err != nil {
		return false, err
	}
	now := c.Client.Clock().Now()
	left := c.target.Status.Claim.NotAfter.Sub(now) - clocksDiffer
	if left <= 0 || f != nil && (f.Open() || f.Status.Claim != nil && now.Before(f.Status.Claim.NotAfter.Time)) {
		return false, nil
	}
	r, err := c.readDevice(ctx, b, left, Call{
		Node: c.node.Name, Holder: c.target.Status.Claim.Holder, Record: talk.RecordOf("FenceTarget", c.target.ObjectMeta),
	})
	if err != nil && notLearnt(err) {
		return false, err
	}
	d := &c.target.Status.Devices[i]
	at := metav1.NewMicroTime(c.Client.Clock().Now().UTC())
	*d = verdict(*d, b, r, err, kube.NodeSeen(c.node, "").Ready())
	d.LastChecked = &at
	if d.Reason == api.WrongMachine && c.Whose != nil {
		other, err := c.Whose(ctx, r.Identity)
		if err != nil {
			return false, err
		}
		if other != "" {
			d.Message = "it is the device of node " + other + ": " + d.Message
		}
	}
	return true, nil
}

// conclude writes what came of it, where that is news or nothing was written in
// this turn yet, and tells.
func (c *checking) conclude(ctx context.Context, unfit *Unfit) error {
	now := metav1.NewMicroTime(c.Client.Clock().Now().UTC())
	st := &c.target.Status
	summarise(c.target, unfit, now)
	was := c.before.Status.LastChecked
	same := c.before.ResourceVersion == c.target.ResourceVersion && equality.Semantic.DeepEqual(c.before.Status.Devices, st.Devices) &&
		equality.Semantic.DeepEqual(c.before.Status.Conditions, st.Conditions)
	if same && was != nil && !was.Time.Before(c.began) {
		return nil
	}
	st.LastChecked = &now
	if err := c.save(ctx); err != nil {
		return err
	}
	c.Witness.Checked(ctx, step.Check{Function: Name, Cause: c.cause, Before: c.before, Target: c.target})
	return nil
}

func (c *checking) save(ctx context.Context) error {
	saved, err := c.Client.SaveTarget(ctx, c.target)
	if err != nil {
		return fmt.Errorf("save FenceTarget of %s: %w", c.node.Name, err)
	}
	c.target = saved
	return nil
}

// asksCheck: the event is of a node's turn to be checked.
func asksCheck(e event.Event) bool { return e.Type() == events.NodeCheck }

package readiness

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/report"
)

// longest is how long a check may keep a device to itself at least: as long as a fence's own
// call, so that a device which is too slow for a fence is noticed.
const longest = api.DeviceCall

// clocksDiffer is more than two estimates of the API server's time differ: a call ends by
// so much before its claim does.
const clocksDiffer = 2 * time.Second

// Checker is one function's part in the checks.
type Checker struct {
	Client *kube.Client
	// Open reads the credentials and opens the driver of a binding, for one call.
	Open func(ctx context.Context, b *api.Binding, c devicecall.Claim) (device.Driver, error)
	// Devices returns a node's devices. A fault in the configuration is an Unfit, with the
	// binding that says so.
	Devices func(ctx context.Context, a Asked) (Resolved, error)
	// Whose is the node that was enrolled as this machine; empty if none was.
	Whose func(ctx context.Context, identity string) (node, enrolled string, err error)
	// DeniedRest is how long a device is left alone after it has refused the account, so
	// that checks do not lock the account.
	DeniedRest time.Duration
	// DeviceCall is the longest that one call to a device may take; the usual if zero. A check
	// takes no longer than its turn.
	DeviceCall time.Duration
	// Function is the function that this is part of; Me names one invocation of it.
	Function string
	Me       func() string
	Source   events.Source
	Reporter report.Reporter
	// Cuts: this function calls the devices that cut off storage and network. The other
	// function, which calls the devices that switch machines, has passed the node's turn on
	// to it.
	Cuts bool
}

// Unfit is why a node has no device: the fault in its configuration, with the object and
// the key to correct.
type Unfit struct {
	Reason api.Reason
	Err    error
}

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
	c.target.Status.Claim = nil
	reply, err := c.run(ctx)
	if errors.Is(err, kube.ErrConflict) {
		return nil, nil // another process was quicker
	}
	return reply, err
}

// checking is one check.
type checking struct {
	*Checker
	node   *corev1.Node
	ledger *api.FenceLedger
	before *api.FenceTarget
	target *api.FenceTarget
	// began is the start of the turn; until is its end.
	began, until time.Time
	cause        event.Event
	// holder is the claim that this check has saved; empty before.
	holder string
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

// read claims the node's devices, reads one of them, and reports.
func (c *checking) read(ctx context.Context, i int, b *api.Binding) error {
	now := c.now()
	summarise(c.target, nil, now) // this stays if a fence begins meanwhile
	c.target.Status.Claim = &api.TargetClaim{Holder: c.Me(), At: now, NotAfter: c.ends(now.Time)}
	if err := c.save(ctx); err != nil {
		return err
	}
	c.holder = c.target.Status.Claim.Holder
	read, err := c.readOne(ctx, i, b)
	c.target.Status.Claim = nil
	if !read || err != nil {
		return errors.Join(err, c.save(ctx))
	}
	return c.conclude(ctx, nil)
}

// readOne reads a device under the claim that has just been saved, unless a fence is open:
// the fence comes first, and calls the device itself.
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
	r, err := c.readDevice(ctx, b, left, devicecall.Claim{
		Node: c.node.Name, Holder: c.target.Status.Claim.Holder, Record: devicecall.RecordOf("FenceTarget", c.target.ObjectMeta),
	})
	if err != nil && notLearnt(err) {
		return false, err
	}
	d := &c.target.Status.Devices[i]
	at := c.now()
	*d = verdict(*d, c.node.Name, b, r, err, look.NodeFrom(c.node, "").Ready())
	d.LastChecked, d.LastAsked = &at, nil // not compared: they are from the clocks of two processes (S30: one clock)
	if d.Reason == api.WrongMachine && c.Whose != nil {
		other, enrolled, err := c.Whose(ctx, r.Identity)
		if err != nil {
			return false, err
		}
		if other != "" {
			d.Message = strings.ReplaceAll(d.Message, r.Identity, enrolled)
			d.Identity = enrolled
			d.Message = "it is the device of node " + other + ": " + d.Message
		} else if b.Identity != "" && r.Identity != "" {
			d.Message += renewal(c.node.Name)
		}
	}
	return true, nil
}

// conclude writes the result, if it is new or if nothing was written in this turn yet, and
// reports.
func (c *checking) conclude(ctx context.Context, unfit *Unfit) error {
	now := c.now()
	st := &c.target.Status
	summarise(c.target, unfit, now)
	heeded(st, now)
	was := c.before.Status.LastChecked
	same := c.before.ResourceVersion == c.target.ResourceVersion && equality.Semantic.DeepEqual(c.before.Status.Devices, st.Devices) &&
		equality.Semantic.DeepEqual(c.before.Status.Conditions, st.Conditions) && equality.Semantic.DeepEqual(c.before.Status.CheckNow, st.CheckNow) &&
		equality.Semantic.DeepEqual(c.before.Status.Binding, st.Binding)
	if same && was != nil && !was.Time.Before(c.began) {
		return nil
	}
	st.LastChecked = &now
	if err := c.save(ctx); err != nil {
		return err
	}
	c.Reporter.Checked(ctx, report.Check{Function: c.Function, Cause: c.cause, Before: c.before, Target: c.target})
	return nil
}

func (c *checking) now() api.Time { return metav1.NewMicroTime(c.Client.Clock().Now().UTC()) }

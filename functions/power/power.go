package power

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/step"
)

// Name of the function.
const Name = "power"

// Phases that it owns.
var Phases = []api.Phase{api.Fencing, api.PoweringOn}

// Power is the function.
type Power struct {
	Client *kube.Client
	// Open reads the credentials and opens the driver of a binding, for one call.
	Open func(ctx context.Context, b *api.Binding, c Call) (device.Driver, error)
	// Devices are those of a node, in the order of its levels; what is wrong in its
	// configuration is an Unfit.
	Devices func(ctx context.Context, n *corev1.Node) ([]api.Binding, error)
	// Whose is the node that was enrolled as this machine; empty if none was.
	Whose func(ctx context.Context, identity string) (node string, err error)
	// Self is the node that this runs on (S13); empty if unknown.
	Self    string
	Loop    *step.Loop
	Witness step.Witness
}

// Handle takes one event.
func (p *Power) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.Begin(ctx, Name)
	node, err := events.Node(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrMalformed, err)
	}
	if asksCheck(e) {
		return nil, p.check(ctx, node, e)
	}
	return p.Loop.Run(ctx, node, e)
}

// Look sees the node and, where they may stop something, the brakes. The device is
// looked at by an action of its own, since only one invocation at a time may speak
// with it (S7).
func (p *Power) Look(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	seen.Self = p.Self != "" && p.Self == f.Spec.Node
	if fence.AsksAnew(f) {
		p.Client.Forget(ctx)
	}
	if err := p.Client.LookNode(ctx, f, seen); err != nil {
		return err
	}
	if fence.AsksBrakes(f) {
		if err := p.Client.LookBrakes(ctx, f, seen); err != nil {
			return err
		}
	}
	return p.Client.LookDump(ctx, f, seen)
}

// Act makes one call. However it ends, its end is an observation.
func (p *Power) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen *fence.Seen) error {
	if !a.Device() {
		return fmt.Errorf("power can't %s", a)
	}
	now := p.Client.Clock().Now()
	seen.Call = &fence.CallResult{Call: api.Call(a), At: now}
	err := p.speak(ctx, f, a, seen.Call, f.Status.Claim.NotAfter.Sub(now))
	p.Client.Forget(ctx) // time has passed, and the machine may be another one
	if err != nil {
		seen.Call.Err = words(err)
	}
	return err
}

// speak makes the call within what is left of the claim. A claim that ran out
// while this process was stopped is not used any more (S8).
func (p *Power) speak(ctx context.Context, f *api.NodeFence, a fence.Action, c *fence.CallResult, left time.Duration) error {
	if left <= 0 {
		return errors.New("the time for this call ran out before it was made")
	}
	bound := fence.Bound(f)
	if bound == nil {
		return errors.New("no device is bound to this node")
	}
	if a == fence.Off && p.Self == f.Spec.Node && p.Self != "" {
		return errors.New("this is the machine that nodefence runs on") // S13
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	d, err := p.Open(ctx, bound, Call{
		Node: f.Spec.Node, Holder: f.Status.Claim.Holder, Record: recordOf("NodeFence", f.ObjectMeta),
		Made: func(job string) { c.Jobs = append(c.Jobs, job) },
	})
	if err != nil {
		return err
	}
	switch a {
	case fence.Off:
		return d.Off(ctx)
	case fence.On:
		return d.On(ctx)
	}
	r, err := d.State(ctx)
	if err != nil {
		c.Stopping = errors.Is(err, device.ErrStopping)
		return err
	}
	c.Identity = r.Identity
	if want := bound.Identity; want != "" && r.Identity != "" && !device.SameIdentity(want, r.Identity) {
		c.Wrong = true // S11
		return fmt.Errorf("%w: it answers for %s, enrolled is %s; %s", device.ErrUnknown, r.Identity, want, mend(bound))
	}
	c.Power = string(r.Power)
	return nil
}

// mend says where the address stands that is another machine's.
func mend(b *api.Binding) string {
	if len(b.Sources) == 0 {
		return "mend the address of its device"
	}
	cm, _, _ := strings.Cut(b.Sources[0], "@")
	return "mend the address of its device, " + b.Driver + " " + b.Address + ", in ConfigMap " + cm + " or in those that it names"
}

// words keeps an error short enough for a record.
func words(err error) string {
	s := err.Error()
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

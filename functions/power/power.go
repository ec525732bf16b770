package power

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/readiness"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function.
const Name = "power"

// Phases that it owns.
var Phases = api.PhasesOf(Name)

// Power is the function.
type Power struct {
	Client *kube.Client
	// Open reads the credentials and opens the driver of a binding, for one call.
	Open func(ctx context.Context, b *api.Binding, c Call) (device.Driver, error)
	// Credentials is the version of what the account of a device is read from.
	Credentials func(ctx context.Context, b *api.Binding) (string, error)
	// Whose is the node that was enrolled as this machine, as talk has it.
	Whose func(ctx context.Context, identity string) (node, enrolled string, err error)
	// Self is the node that this runs on (S13); empty if unknown.
	Self string
	// DeviceCall is the longest that one call to a device may take here, whatever the gate that
	// opened a fence allows.
	DeviceCall time.Duration
	Loop       *loop.Loop
	// Checks reads the devices of healthy nodes.
	Checks *readiness.Checker
}

// Handle takes one event.
func (p *Power) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	node, err := run.Node(e)
	if err != nil {
		return nil, err
	}
	if events.ChecksCredentials(e) {
		return nil, p.noteCredentials(ctx, node)
	}
	if readiness.Asks(e) {
		return p.Checks.Handle(ctx, node, e)
	}
	return p.Loop.Run(ctx, node, e, p.Loop.Elapsed())
}

// Look sees what fence.Needs names. The device is looked at by an action of its own, since
// only one invocation at a time may speak with it (S7).
func (p *Power) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	return look.Looker{Client: p.Client, Self: p.Self}.At(ctx, f, seen, notBefore)
}

// deleteMachine begins nothing whose time is over: the record may stand elsewhere by
// then.
func (p *Power) deleteMachine(ctx context.Context, f *api.NodeFence) error {
	m, now := f.Status.Machine, p.Client.Clock().Now()
	if m == nil || f.Status.Decision.Trigger.Machine == nil || now.Sub(m.AskedAt.Time) > facts.ActWithin {
		return fmt.Errorf("delete Machine of %s: not asked for, or too long ago: %w", f.Spec.NodeName, kube.ErrConflict)
	}
	return p.Client.DeleteMachine(ctx, f.Status.Decision.Trigger.Machine.UID, func(m *policy.Machine) error {
		nodes, err := p.Client.Nodes(ctx) // after the Machine: a Node may have joined since the gate's look
		if err != nil {
			return err
		}
		return policy.MayDelete(m, policy.Identities(nodes))
	})
}

// Act makes one call. However it ends, its end is an observation.
func (p *Power) Act(ctx context.Context, f *api.NodeFence, a fence.Action, _ observed.Look) (loop.Result, error) {
	if a == fence.DeleteMachine {
		return loop.Result{}, p.deleteMachine(ctx, f)
	}
	if !a.Device() {
		return loop.Result{}, fmt.Errorf("power can't %s", a)
	}
	t := devicecall.Caller{Open: p.Open, Credentials: p.Credentials, Whose: p.Whose, Self: p.Self, Longest: p.DeviceCall, Now: p.Client.Clock().Now}
	made, err := t.Make(ctx, f, facts.Claimed(f), a)
	return loop.Result{Call: made}, err
}

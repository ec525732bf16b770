package isolate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/readiness"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function.
const Name = "isolate"

// Phases that it owns.
var Phases = api.PhasesOf(Name)

// Isolator is the function.
type Isolator struct {
	Client *kube.Client
	// Open reads the credentials and opens the driver of a binding.
	Open func(ctx context.Context, b *api.Binding, c devicecall.Claim) (device.Driver, error)
	// Credentials is the version of what the account of a device is read from.
	Credentials func(ctx context.Context, b *api.Binding) (string, error)
	// Whose returns the node that was enrolled as this machine, for devicecall.Caller.
	Whose func(ctx context.Context, identity string) (node, enrolled string, err error)
	// Self is the node that this function runs on (S13); empty if unknown.
	Self string
	// DeviceCall is the longest that one call to a device may take here, whatever the gate that
	// opened a fence allows.
	DeviceCall time.Duration
	Loop       *loop.Loop
	Log        *slog.Logger
	// Checks reads the devices of healthy nodes.
	Checks *readiness.Checker
}

// Handle takes one event.
func (i *Isolator) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	node, err := run.Node(e)
	if err != nil {
		return nil, err
	}
	if readiness.Asks(e) {
		return i.Checks.Handle(ctx, node, e)
	}
	return i.Loop.Run(ctx, node, e, i.Loop.Elapsed())
}

// Look reads what fence.Needs names.
func (i *Isolator) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	return look.Looker{Client: i.Client, Self: i.Self}.At(ctx, f, seen, notBefore)
}

// tellCordon tells once for each fence how a person keeps the cordon: kubectl cordon sends nothing for a node that
// is cordoned already, so nodefence can't notice it (S22). The fence goes on without the Event.
func (i *Isolator) tellCordon(ctx context.Context, f *api.NodeFence) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.Spec.NodeName, UID: f.Status.Decision.NodeUID}}
	name := fmt.Sprintf("nodefence-cordon-%s-%d", f.UID, f.Status.FenceNumber)
	err := i.Client.ReportOnce(ctx, n, Name, name, string(api.NodeCordoned), Name,
		fmt.Sprintf("nodefence has cordoned node %[1]s, and uncordons it when its fence ends; to keep it cordoned: kubectl fence cordon %[1]s", n.Name))
	if err != nil {
		i.Log.Warn("no Event says how to keep the cordon", "function", Name, "node", n.Name, "error", err.Error())
	}
}

// Act places the marks, takes off the out-of-service taint, or makes one call. The record already has
// what was there before (S22), and what the call is for (S8).
func (i *Isolator) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (loop.Result, error) {
	switch {
	case a.Device():
		t := devicecall.Caller{Open: i.Open, Credentials: i.Credentials, Whose: i.Whose, Self: i.Self, Longest: i.DeviceCall, Now: i.Client.Clock().Now}
		made, err := t.Make(ctx, f, facts.Claimed(f), a)
		return loop.Result{Call: made}, err
	case a == fence.Isolate:
		err := i.Client.Isolate(ctx, f.Spec.NodeName, f.Status.Decision.NodeUID, seen.Node.Version, f.UID, f.Status.Placed.Cordon)
		if err != nil || !f.Status.Placed.Cordon {
			return loop.Result{}, err
		}
		i.tellCordon(ctx, f)
		return loop.Result{}, nil
	case a == fence.ClearOutOfService:
		return loop.Result{}, i.Client.ClearOutOfService(ctx, f.Spec.NodeName, f.Status.Decision.NodeUID, f.OutOfServiceAs())
	}
	return loop.Result{}, fmt.Errorf("isolate can't %s", a)
}

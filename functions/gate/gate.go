package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/admit"
	"github.com/nodefence/nodefence/functions/gate/checks"
	"github.com/nodefence/nodefence/functions/gate/requests"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/remediation"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function, and what it owns.
const Name = "gate"

// Phases that the gate owns.
var Phases = []api.Phase{api.Pending}

// Gate is the function.
type Gate struct {
	Client *kube.Client
	// Bind resolves which device switches a node.
	Bind func(ctx context.Context, node *corev1.Node) (*config.Bound, error)
	// Self is the node that this runs on (S13); empty if unknown.
	Self string
	// Namespace is nodefence's own, where machines are enrolled.
	Namespace string
	// Checks is the namespace of the checks' Jobs.
	Checks string
	// Networks bound what activity checks connect to.
	Networks checks.Networks
	// RequestNamespaces are those whose FenceRequests count.
	RequestNamespaces ask.Namespaces
	// KubeletPort is where kubelets listen; what each Node reports if zero.
	KubeletPort int32
	// NeighborsImage is what checks of type Neighbors run, nodefence's own; they go wrong
	// without one.
	NeighborsImage string
	// DeviceCall is the longest that one call to a device may take.
	DeviceCall time.Duration
	Log        *slog.Logger
	// Reporter hears of every event that asks for a fence and opens none.
	Reporter report.Reporter
	Loop     *loop.Loop
	// Remediation keeps other programs that remediate nodes away; nil if there are none.
	Remediation *remediation.Leases
	// Queue has the fences of this process decided on together; each by itself if it is nil.
	Queue *admit.Queue

	unasked unasked
}

// Handle takes one event.
func (g *Gate) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	began := g.Loop.Elapsed()
	if events.IsHint(e.Type()) && !events.AboutNode(e) {
		g.Log.Info("ignored", "function", Name, "event", e.ID(), "type", e.Type(), "reason", "NotANode")
		return nil, nil
	}
	node, err := run.Node(e)
	if err != nil {
		return nil, g.judge().Unread(ctx, e, err)
	}
	if idle, err := g.isNoise(ctx, e); err != nil || idle {
		return nil, err
	}
	opened, reply, just, err := g.open(ctx, node, e)
	if err != nil || just {
		return reply, err
	}
	switch {
	case opened == nil:
		return g.Loop.Run(ctx, node, e, began)
	case opened.goesOn:
		return g.Loop.GoOn(ctx, opened.fence, e, began)
	}
	reply, err = g.Loop.Open(ctx, opened.fence, opened.before, opened.resolved, e, began)
	if errors.Is(err, kube.ErrConflict) && !opened.asked {
		return nil, nil // another gate has just opened it
	}
	if errors.Is(err, kube.ErrConflict) {
		return nil, fmt.Errorf("%w: %w", run.ErrAgain, err) // the request must not be lost to that race
	}
	return reply, err
}

// opened is a fence with the status that opens it, which is not saved yet, unless it goes on; before is the
// status that it had. asked: an event asked for it, which nothing brings again.
type opened struct {
	fence  *api.NodeFence
	before api.NodeFenceStatus
	asked  bool
	// resolved: its policies and its devices were read for it just now.
	resolved bool
	// goesOn: it is open already, and fence is its record as it was read for this event.
	goesOn bool
}

// existing is a record that need not be opened; nil for one of a newer nodefence (S21).
func existing(f *api.NodeFence) *opened {
	if fence.Foreign(f.Status) {
		return nil
	}
	return &opened{fence: f, goesOn: true}
}

// justOpened is how long a record is left to the gate that opened it: a node
// that dies loses all its conditions at once, each with an event of its own.
const justOpened = 2 * time.Second

// open decides on a fence of a node that is unhealthy now, and tells whether there is
// nothing more to do: no fence opens, another gate has just opened it, or the reply has
// somebody else act. Losing that race is as good as winning, unless an event asked.
func (g *Gate) open(ctx context.Context, node string, e event.Event) (o *opened, reply *event.Event, done bool, err error) {
	reader := g.Client.NewReader(g.Client.Clock().Elapsed())
	f, err := g.ahead(ctx, reader, node, e)
	if err != nil {
		return nil, nil, false, err
	}
	switch ours := f == nil || f.DeletionTimestamp == nil && !fence.Foreign(f.Status); {
	case ours && events.Asks(e.Type()):
		a, err := g.judge().Request(ctx, node, e, f)
		return g.answered(ctx, node, a, err, f)
	case ours && e.Type() == events.NodeProblem:
		a, err := g.judge().Problem(ctx, node, e, f)
		return g.answered(ctx, node, a, err, f)
	case !ours || f != nil && f.Open():
		return existing(f), nil, g.elsewhere(f, e), g.judge().WhileDeleted(ctx, node, e, f)
	}
	n, err := reader.Node(ctx, node)
	if err != nil {
		return nil, nil, false, err
	}
	if n != nil {
		o, err = g.unhealthy(ctx, reader, n, e, f)
		return o, nil, o == nil, err
	}
	o, err = g.missing(ctx, node, e, f)
	if errors.Is(err, kube.ErrConflict) {
		return nil, nil, true, nil // another gate has just opened it
	}
	return o, nil, o == nil, err
}

// ahead reads the node's record and, where the event tells that the node is not Ready, at the
// same time what its first look will need: a fence is likely to open.
func (g *Gate) ahead(ctx context.Context, reader kube.Reader, node string, e event.Event) (f *api.NodeFence, err error) {
	reads := []func() error{func() (err error) { f, err = g.Client.Fence(ctx, node); return err }}
	if e.Type() == events.NodeUnhealthy && e.Extensions()[events.ConditionAttr] == string(corev1.NodeReady) {
		reads = append(reads,
			func() error { _, err := reader.Node(ctx, node); return err },
			func() error { _, err := reader.Lease(ctx, node); return err },
			func() error { _, err := look.PoliciesShowing(ctx, reader, anyPolicies); return err },
		)
	}
	err = g.Client.Together(reads...)
	return f, err
}

// judge decides on events that ask for a fence.
func (g *Gate) judge() *requests.Judge {
	return &requests.Judge{Client: g.Client, Namespaces: g.RequestNamespaces, Log: g.Log, Reporter: g.Reporter, Loop: g.Loop}
}

// answered opens the fence that the judge's answer asks for. A FenceRequest that was withdrawn before the node had
// a record is read again, and then opens none (S17).
func (g *Gate) answered(ctx context.Context, node string, a requests.Answer, err error, last *api.NodeFence) (o *opened, reply *event.Event, done bool, _ error) {
	if err == nil && a.Opens != nil {
		o, err = g.prepareRecord(ctx, last, node, *a.Opens)
	}
	if err == nil && last == nil && a.Object != nil {
		var still bool
		if still, err = g.judge().StillAsked(ctx, a.Object); err != nil || !still {
			o = nil // the record stays as it is, without a fence
		}
	}
	return o, a.Reply, a.Reply != nil, askedAgain(err)
}

// askedAgain has an event that asks for a fence brought again where somebody else wrote
// first: the request must not be lost to that race.
func askedAgain(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return fmt.Errorf("%w: %w", run.ErrAgain, err)
	}
	return err
}

// elsewhere tells whether somebody else is at work on the node's record: another function
// by its phase, or the gate that has just opened it.
func (g *Gate) elsewhere(f *api.NodeFence, e event.Event) bool {
	if f.Open() && !fence.Foreign(f.Status) && !slices.Contains(Phases, f.CurrentPhase()) {
		return true
	}
	return e.Type() == events.NodeUnhealthy && g.openedJustNow(f)
}

// openedJustNow: the record was opened a moment ago, and whoever did is at work on it.
// If that gate has died, the source finds the record by its missing nextLook.
func (g *Gate) openedJustNow(f *api.NodeFence) bool {
	if f.Status.OpenedAt == nil {
		return true
	}
	return f.Status.Phase == api.Pending && g.Client.Clock().Now().Sub(f.Status.OpenedAt.Time) < justOpened
}

// prepareRecord returns a fence that is about to open. First there is a record with our finalizer,
// without what people asked of an earlier fence, and with what they aborted; the status
// that opens it is saved by the loop, with what its first look sees. A process that dies in between leaves a record
// that is no fence: the next event of the node opens it.
func (g *Gate) prepareRecord(ctx context.Context, last *api.NodeFence, node string, dec api.Decision) (o *opened, err error) {
	dec.DeviceCallTimeout.Duration = g.DeviceCall
	f := last
	switch {
	case f == nil:
		f, err = g.Client.CreateFence(ctx, &api.NodeFence{
			ObjectMeta: metav1.ObjectMeta{Name: node, Finalizers: []string{api.Finalizer}},
			Spec:       api.NodeFenceSpec{NodeName: node},
		})
	case !slices.Contains(f.Finalizers, api.Finalizer) || f.Spec.Requests != (api.Requests{}) || f.WithAborted() != f.Annotations[api.AbortedAnnotation]:
		f, err = g.Client.ClearRequests(ctx, f)
	}
	if err != nil {
		if !errors.Is(err, kube.ErrConflict) {
			g.Reporter.Unsaved(ctx, report.Unsaved{Function: Name, Node: node, NodeUID: dec.NodeUID, Err: err})
		}
		return nil, err
	}
	o = &opened{fence: f, before: f.Status, asked: dec.Asker() != nil}
	f.Status = fence.Opening(f, dec, g.Client.Clock().Now())
	return o, nil
}

// anyPolicies accepts the policies that the census names without a list. The caller's later reads list all policies
// where one is missing.
func anyPolicies([]api.FencePolicy) bool { return true }

package adopt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

// Name is the function's name.
const Name = "adopt"

// Tick is the time between two looks of Run.
const Tick = 3 * time.Second

// Objects is the part of the API server's client that the function needs.
type Objects interface {
	FARs(ctx context.Context, namespace string) (all []far.Object, served bool, err error)
	AllFARs(ctx context.Context, kind string) ([]metav1.ObjectMeta, error)
	LeasesNamed(ctx context.Context, name string) ([]coordinationv1.Lease, error)
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Policies(ctx context.Context) ([]api.FencePolicy, error)
	Fence(ctx context.Context, node string) (*api.NodeFence, error)
	FenceRequest(ctx context.Context, namespace, name string) (*api.FenceRequest, error)
	CreateFenceRequest(ctx context.Context, r *api.FenceRequest) error
	DeleteFenceRequest(ctx context.Context, r *api.FenceRequest) error
	TimeOutFenceRequest(ctx context.Context, r *api.FenceRequest, words string) error
	SaveFARStatus(ctx context.Context, o *far.Object, st far.Status) (*far.Object, error)
	HoldFAR(ctx context.Context, o *far.Object, node string, hold bool) (*far.Object, error)
	MarkFAR(ctx context.Context, node string, uid types.UID, placed bool) error
	TellFAR(ctx context.Context, kind string, o *metav1.ObjectMeta, e far.Event, reporter string) error
	Templates
}

// Adopter is the function. It must not be copied after first use.
type Adopter struct {
	// DeviceCall is the longest that one call to a device may take; the usual if zero.
	DeviceCall time.Duration
	Objects    Objects
	// Namespaces are those whose objects count: those of FenceRequests.
	Namespaces ask.Namespaces
	// Now is the API server's time.
	Now func() time.Time
	// Elapsed is the time by which a Lease is seen to stand still.
	Elapsed func() time.Duration
	Log     *slog.Logger

	leader  leader
	samples samples
	wakes   wakes
	// missing says that the kind was not served at the last look.
	mu      sync.Mutex
	missing bool
	looked  bool
	apart   saidElsewhere
}

// Handle handles one tick, from any clock.
func (a *Adopter) Handle(ctx context.Context, _ event.Event) (*event.Event, error) {
	return nil, errors.Join(a.Look(ctx), a.LookAtTemplates(ctx))
}

// Run looks at every tick until ctx ends.
func (a *Adopter) Run(ctx context.Context, every time.Duration) {
	var templates sync.WaitGroup
	templates.Go(func() { a.runTemplates(ctx, every) })
	run.Every(ctx, every, a.Log, Name, "looking at FenceAgentsRemediations failed; the next tick tries again", a.Look)
	templates.Wait()
}

// Look looks at all objects once. One that fails does not keep the others from being looked at.
func (a *Adopter) Look(ctx context.Context) error {
	ctx = kube.WithFunction(ctx, Name)
	live, unsure, err := a.itself(ctx)
	if err != nil {
		return err
	}
	all, served, failed := a.list(ctx)
	if len(failed) == 0 {
		a.note(served)
	}
	for i := range all {
		// Before it is known whether that program runs, nothing is written. And what is left of an
		// object is removed only when all others are known that may need it.
		if live == "" && unsure || all[i].DeletionTimestamp != nil && len(failed) > 0 {
			continue
		}
		err := a.work(ctx, &all[i], all, live)
		if err != nil && !errors.Is(err, kube.ErrConflict) { // the next look sees what somebody else wrote
			failed = append(failed, fmt.Errorf("%s: %w", all[i].Words(), err))
		}
	}
	if live == "" && !unsure { // or else another program works on objects of all namespaces
		a.tellElsewhere(ctx)
	}
	return errors.Join(failed...)
}

// work reads what belongs to one object, and carries out what comes next.
func (a *Adopter) work(ctx context.Context, o *far.Object, all []far.Object, live string) error {
	s := far.Seen{Object: o, Live: live, DeviceCall: a.DeviceCall, Now: a.Now()}
	if s.Node, s.Misnamed = far.Node(o); s.Node == "" {
		s.Node = o.Name
	}
	n, err := a.Objects.Node(ctx, s.Node)
	if err != nil {
		return err
	}
	if n != nil {
		s.There, s.Excluded, s.Newer = true, n.Labels[far.Exclude] == "true", n.CreationTimestamp.After(o.CreationTimestamp.Time)
		for _, t := range n.Spec.Taints {
			s.Tainted = s.Tainted || t.Key == far.Taint
		}
	}
	s.Beside = beside(o, s.Node, all)
	if s.Request, err = a.Objects.FenceRequest(ctx, o.Namespace, far.RequestName(o, s.Node)); err != nil {
		return err
	}
	if s.Fence, err = a.Objects.Fence(ctx, s.Node); err != nil {
		return err
	}
	if s.Request == nil && n != nil && live == "" && far.Asks(o) {
		if s.Refused, err = a.refused(ctx, o, n); err != nil {
			return err
		}
	}
	return a.carry(ctx, o, n, s, far.Decide(s))
}

// beside tells whether another object about the node lives.
func beside(o *far.Object, node string, all []far.Object) bool {
	for i := range all {
		other := &all[i]
		if is, _ := far.Node(other); is == node && other.UID != o.UID && other.DeletionTimestamp == nil && far.Held(other) {
			return true
		}
	}
	return false
}

// carry carries out a step, in its order. It stops at the first write that fails: the next look
// decides by what is there then.
func (a *Adopter) carry(ctx context.Context, o *far.Object, n *corev1.Node, s far.Seen, next far.Step) (err error) {
	if next.Hold {
		if o, err = a.hold(ctx, o, s.Node, true); err != nil {
			return err
		}
	}
	if next.TimeOut {
		err = a.Objects.TimeOutFenceRequest(ctx, s.Request, o.Words()+" has ended")
	}
	if err == nil && next.Withdraw {
		err = a.Objects.DeleteFenceRequest(ctx, s.Request)
	}
	for i := 0; err == nil && i < len(next.Statuses); i++ {
		if o, err = a.Objects.SaveFARStatus(ctx, o, next.Statuses[i]); err == nil {
			a.Log.Info("wrote the status of a FenceAgentsRemediation", "function", Name, "namespace", o.Namespace, "name", o.Name, "node", s.Node, "ended", far.Ended(o))
		}
	}
	if err != nil {
		return err
	}
	for _, e := range next.Events {
		if err := a.Objects.TellFAR(ctx, far.Kind, &o.ObjectMeta, e, Name); err != nil {
			a.Log.Warn("an Event could not be written", "function", Name, "namespace", o.Namespace, "name", o.Name, "error", err.Error())
		}
	}
	return a.finish(ctx, o, n, s, next)
}

// finish carries out what comes after the object's own words.
func (a *Adopter) finish(ctx context.Context, o *far.Object, n *corev1.Node, s far.Seen, next far.Step) (err error) {
	if next.Mark || next.Unmark {
		err = a.Objects.MarkFAR(ctx, n.Name, n.UID, next.Mark)
	}
	asks := false
	if err == nil && (next.Mark || next.Ask) {
		asks, err = a.lookAgain(ctx, o, n)
	}
	if err == nil && next.Ask && asks {
		err = a.Objects.CreateFenceRequest(ctx, requestOf(o, s.Node))
	}
	if err == nil && next.LetGo {
		_, err = a.hold(ctx, o, s.Node, false)
	}
	return err
}

// lookAgain tells whether the object still asks for its fence. If it has gone, or is deleted, it removes
// the taint that was just placed: another process saw that deletion, and may have found no taint to
// remove. If this one dies before, the taint stays until a person removes it. It stays too where another
// object about the node needs it, in whatever namespace.
func (a *Adopter) lookAgain(ctx context.Context, o *far.Object, n *corev1.Node) (asks bool, err error) {
	all, _, failed := a.list(ctx)
	if i := slices.IndexFunc(all, func(is far.Object) bool { return is.UID == o.UID }); i >= 0 && all[i].DeletionTimestamp == nil {
		return far.Asks(&all[i]), nil
	}
	if len(failed) > 0 {
		return false, errors.Join(failed...) // not all are known that may need the taint
	}
	if beside(o, n.Name, all) {
		return false, nil
	}
	return false, a.Objects.MarkFAR(ctx, n.Name, n.UID, false)
}

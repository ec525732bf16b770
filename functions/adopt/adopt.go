package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

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

package resync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Requests lists the FenceRequests of a namespace. A cluster without the kind has none.
type Requests interface {
	FenceRequests(ctx context.Context, namespace string) ([]api.FenceRequest, error)
}

// wakeRequests calls the function request about each FenceRequest that is not done with, in the
// namespaces that count: it is the waker that needs neither the source nor the broker (S19). A
// namespace that can't be read does not keep the others from being looked at.
func (r *round) wakeRequests(ctx context.Context, fences []api.NodeFence, now time.Time) error {
	var failed []error
	for _, namespace := range r.RequestNamespaces {
		all, err := r.Requests.FenceRequests(ctx, namespace)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for FenceRequests in namespace %s: %w", namespace, err))
			continue
		}
		for i := range all {
			// One that has failed, and was given up since, may have a fence that is to be ended. The fences were
			// read before it, so that what has come in between is seen in the next round.
			o := &all[i]
			if ask.Unfinished(o) || ask.TimedOut(o) && !ask.Settled(o, recordOf(o, fences)) {
				r.wakeRequest(o, now)
			}
		}
	}
	return errors.Join(failed...)
}

// recordOf is the record of the node that a FenceRequest is about; nil if there is none.
func recordOf(o *api.FenceRequest, fences []api.NodeFence) *api.NodeFence {
	node := ask.Subject(o)
	for i := range fences { // by index: a NodeFence is large
		if fences[i].Spec.NodeName == node {
			return &fences[i]
		}
	}
	return nil
}

func (r *round) wakeRequest(o *api.FenceRequest, now time.Time) {
	named := events.ObjectReference{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}
	// The slot makes another event than that of the last round.
	e := r.Source.FenceRequestChanged(ask.Subject(o), named, fmt.Sprintf("r%d", now.Truncate(facts.Resync).UnixMicro()), now)
	r.send("request/"+string(o.UID), patience, now, e, func(err error) error {
		if err != nil {
			return fmt.Errorf("look at FenceRequest %s/%s: %w", o.Namespace, o.Name, err)
		}
		return nil
	})
}

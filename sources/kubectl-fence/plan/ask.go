package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	// askEvery is the time between two looks for the answer.
	askEvery = 500 * time.Millisecond
	// answersWithin is longer than a turn for each of four devices that hang.
	answersWithin = 2 * time.Minute
)

// ask has a node's devices read now, and returns when each of them has been read or tried.
func (w *world) ask(ctx context.Context, node string) error {
	if !slices.ContainsFunc(w.lists.Nodes, func(n corev1.Node) bool { return n.Name == node }) {
		return w.noNode(node)
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	wish := w.Client.Clock().Now().UTC().Format(time.RFC3339Nano)
	t, err := w.Client.RequestCheck(ctx, node, wish)
	for err == nil && (t == nil || !t.Heeded(wish)) {
		select {
		case <-ctx.Done():
			return w.unheeded(node, t)
		case <-time.After(askEvery):
		}
		if t == nil {
			t, err = w.Client.RequestCheck(ctx, node, wish)
		} else {
			t, err = w.Client.Target(ctx, node)
		}
	}
	switch {
	case ctx.Err() != nil:
		return w.unheeded(node, t)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("ask for a check of node %s: %w; it takes the right to patch fencetargets of nodefence.io", node, err)
	}
	return err
}

// unheeded says why the check may not have been carried out.
func (w *world) unheeded(node string, t *api.FenceTarget) error {
	why := "is nodefence's source running, and are checks on (NODEFENCE_CHECK_INTERVAL)?"
	for i := range w.lists.Fences {
		if f := &w.lists.Fences[i]; f.Spec.NodeName == node && f.Open() {
			why = "a fence of the node is open, and comes first"
		}
	}
	for _, l := range w.ledger.Status.Leases.Still {
		if l.NodeName == node {
			why = "its Lease stands still: a fence may begin at any moment, and comes first"
		}
	}
	if t == nil {
		return fmt.Errorf("node %s has no FenceTarget after %s: %s", node, answersWithin, why)
	}
	return fmt.Errorf("the devices of node %s were not all read within %s: %s", node, answersWithin, why)
}

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/kube"
)

// collects deletes the leftovers of nodes that are gone, until ctx ends. It first waits for
// the policies, because a node that a policy expects is not gone for good.
func (s *Source) collects(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	tick := time.NewTicker(s.o.Resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.collect(ctx); err != nil && ctx.Err() == nil {
				s.o.Logger.Warn("cannot delete the leftovers of a node that is gone; the next sweep tries again", "error", err.Error())
			}
		}
	}
}

func (s *Source) collect(ctx context.Context) error {
	for _, l := range s.leftovers() {
		// A conflict means that the object was just written: the next sweep looks at it
		// again.
		if err := s.putAway(ctx, l); err != nil && !errors.Is(err, kube.ErrConflict) {
			return fmt.Errorf("%s of node %s: %w", l.what, l.node, err)
		}
	}
	return nil
}

// leftovers returns what there is to do; nothing while nobody watches the Nodes. A
// NodeFence is deleted after the enrolment of its node, because the enrolment says since
// when the node has been gone.
func (s *Source) leftovers() (all []leftover) {
	if s.standing.broken(nodes) {
		return nil
	}
	now := s.now()
	expected, rested := s.left.look(now)
	known, open := s.nodes.uids(), s.due.Open()
	here := func(node string) bool { _, ok := known[node]; return ok }
	wanted := func(node string) bool { return here(node) || expected[node] || open[node] != nil }
	all = s.enrol.leftovers(here, wanted, now)
	for node, f := range rested {
		if !wanted(node) && !s.enrol.has(node) {
			all = append(all, leftover{what: "NodeFence", node: node, uid: f.uid, version: f.version, delete: true})
		}
	}
	return all[:min(len(all), atOnce)]
}

func (s *Source) putAway(ctx context.Context, l leftover) error {
	name := kube.EnrolledName(l.node)
	var err error
	switch {
	case !l.delete:
		return s.enrol.mark(ctx, name, l)
	case l.what == "enrolment":
		err = s.o.Client.DeleteConfigMap(ctx, s.o.Namespace, name, l.uid, l.version)
	default:
		err = s.o.Client.DeleteFence(ctx, l.node, l.uid, l.version)
	}
	if err == nil {
		s.o.Logger.Info("deleted: its node has been gone for longer than a week", "what", l.what, "node", l.node)
	}
	return err
}

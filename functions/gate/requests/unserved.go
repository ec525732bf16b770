package requests

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// refuseUnserved says why a request is not served, whoever sends it: nobody could name it or its
// node, it was answered already, it is too old, or its node was created after it: another machine may have the
// name by now (S6, S11). A request that is ofMachine is about that machine, whatever Node it has. Whatever was sent
// before end was answered by the fence that ended then. It is nil if there is no such reason.
func refuseUnserved(e event.Event, r *api.AskedBy, token string, n *corev1.Node, policies []api.FencePolicy, f *api.NodeFence, end *api.Time, ofMachine bool, now time.Time) *no {
	switch {
	case r == nil:
		return &no{api.TokenRefused, unnamed}
	case n == nil:
		return &no{api.NoSuchNode, "no node has this name"}
	case !isSelected(policies, n):
		return &no{api.NoPolicy, unselectedWords(n.Name)}
	case f != nil && (f.Served(r) || token != "" && f.ServedID(r.ID)):
		return &no{api.RequestServedAlready, "event " + r.ID + " of " + r.Source + " has been answered by a fence of this node already"}
	case f != nil && f.Open() && fence.Ends(f, n.UID) != "":
		return &no{api.RequestMerged, fence.Ends(f, n.UID) + ": if the node is to be fenced, send a new one after that"}
	}
	if end != nil && e.Time().Before(end.Time) {
		// That fence has answered to it. A broker may bring it a second time long after (S7, S18).
		return &no{api.RequestMerged, "it was sent before this node's last fence ended, at " + end.UTC().Format(time.RFC3339) + ": if the node is to be fenced again, send a new one"}
	}
	if why := tooOld(e, now); why != "" {
		return &no{api.RequestTooOld, why}
	}
	if made := n.CreationTimestamp; !ofMachine && made.After(e.Time()) {
		return &no{api.NoSuchNode, "it was sent at " + e.Time().UTC().Format(time.RFC3339) + ", and another Node has that name since " + made.UTC().Format(time.RFC3339) + ": if that one is to be fenced, send a new one"}
	}
	return nil
}

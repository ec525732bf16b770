package requests

import (
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// refuseUnserved refuses a request that is not served, whoever sends it: the names of the event are too long,
// no policy selects the node, the request was answered, it is too old, or the Node was created after it, and
// another machine may have its name (S6, S11). A request that is ofMachine is about its machine, whatever Node
// the machine has. A request from before end was answered by the fence that ended then. The result is nil if
// the request may be served.
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

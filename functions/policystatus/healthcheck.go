package policystatus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	"github.com/nodefence/nodefence/shared/clip"
)

// The reasons of the Events about a MachineHealthCheck. RemediationRestricted is its own controller's
// word.
const (
	eventAdopted    = "Adopted"
	eventRefused    = mhc.CannotBeMapped
	eventPassive    = "LeftToItsController"
	eventNamespace  = "NamespaceDoesNotCount"
	eventElsewhere  = "NodesElsewhere"
	eventPaused     = "ClusterPaused"
	eventRestricted = "RemediationRestricted"
)

// check does what follows from one MachineHealthCheck.
func (r *round) check(ctx context.Context, k *kind, raw []byte) {
	c, err := mhc.Read(k.APIVersion, raw)
	if c == nil {
		r.failed = append(r.failed, err)
		k.unread = true // nobody knows which one it is
		return
	}
	if c.DeletionTimestamp != nil {
		return
	}
	why := c.Whose(k.Leader, k.alive, r.now)
	switch {
	case !c.Counts(r.Namespaces):
		r.tell(ctx, c, eventNamespace, "nodefence does nothing about it: its namespace is not in NODEFENCE_ADOPT_NAMESPACES", false)
		r.hold(ctx, c)
	case why != "":
		r.tell(ctx, c, eventPassive, "nodefence does nothing about it: "+why, false)
		r.hold(ctx, c)
	case err != nil:
		r.refuse(ctx, c, err)
	default:
		r.answer(ctx, c, k)
	}
}

// answer answers one that is understood.
func (r *round) answer(ctx context.Context, c *mhc.Check, k *kind) {
	targets := c.Targets(k.machines, r.nodes)
	marked := mhc.Marked(targets)
	n := c.Count(targets)
	byCluster := mhc.HeldByCluster(targets)
	paused := c.Paused() || byCluster != ""
	object, is := r.policies[c.PolicyName()]
	switch {
	case !is && mhc.Elsewhere(targets) && c.Group() == mhc.ClusterAPI:
		r.tell(ctx, c, eventElsewhere, "nodefence does nothing about it: none of the nodes of its Machines is in this cluster; run nodefence in the cluster of the nodes, with NODEFENCE_MACHINES_KUBECONFIG", true)
		return
	case !is && len(marked) == 0 && c.Group() == mhc.ClusterAPI:
		// Nobody knows yet in which cluster its nodes will be.
	default:
		if err := r.keep(ctx, c, object, n, paused || !n.Allowed()); err != nil {
			r.refuse(ctx, c, err)
			return
		}
		for _, node := range marked {
			if r.marks[node] == nil {
				r.marks[node] = map[string]bool{}
			}
			r.marks[node][c.Label()] = true
		}
	}
	if byCluster != "" {
		r.tell(ctx, c, eventPaused, "nothing is fenced for it: of a Machine, "+byCluster, false)
	}
	if paused {
		return // as its own controller, which leaves the status as it is
	}
	if r.save(ctx, c, c.NewStatus(n, r.now)) && !n.Allowed() {
		r.tell(ctx, c, eventRestricted, c.TooMany(n), true)
	}
}

// refuse says in its status, and by an Event, why nothing follows from it.
func (r *round) refuse(ctx context.Context, c *mhc.Check, why error) {
	r.hold(ctx, c)
	r.tell(ctx, c, eventRefused, "nothing is fenced for it: "+why.Error(), true)
	if !c.Paused() {
		r.save(ctx, c, c.RefusedStatus(why, r.now))
	}
}

// save writes its status, if that has changed, and tells whether it did.
func (r *round) save(ctx context.Context, c *mhc.Check, fields map[string]any) bool {
	if fields == nil {
		return false
	}
	err := r.Objects.SaveHealthCheckStatus(ctx, c.APIVersion, c.ObjectMeta, fields)
	if err := unlessLost(err); err != nil {
		r.fail("write the status of "+c.String(), err)
	}
	return err == nil
}

// tell writes an Event about it, once for as long as the Event is kept.
func (r *round) tell(ctx context.Context, c *mhc.Check, reason, message string, warning bool) {
	sum := sha256.Sum256([]byte(string(c.UID) + reason + message))
	about := corev1.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	name := clip.To(200, c.Name) + "." + hex.EncodeToString(sum[:8])
	if err := r.Objects.ReportAbout(ctx, about, Name, name, reason, clip.Message(message), warning); err != nil {
		r.Log.Warn("cannot write an Event; the next tick tries again", "function", Name, "about", c.String(), "error", err.Error())
	}
}

// metaOf is the metadata of an object as the API server sent it.
func metaOf(o map[string]any) (m metav1.ObjectMeta) {
	raw, err := json.Marshal(o["metadata"])
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return metav1.ObjectMeta{UID: types.UID("unreadable")} // no object has this UID
	}
	return m
}

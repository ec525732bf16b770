package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The promises about releases.
const (
	whatWasFenced  = "S6: what is deleted is what was fenced"
	neverOnWhileOn = "S23: the out-of-service taint is never on a node that is on"
)

const (
	// proofHolds is how old a proof by reads may be, where calls take no longer than usual.
	proofHolds = 30 * time.Second
	// dumpHolds is how old the last message of a dump may be.
	dumpHolds = 5 * time.Second
)

// outOfService is the taint by which Kubernetes releases a node's pods and volumes.
const outOfService = corev1.TaintNodeOutOfService

// release is a write by which work of a node is released.
type release struct {
	*Write
	node string
	what string
	// wholly says that the whole node is released, and not one pod or volume.
	wholly bool
}

// listReleases returns the releases by nodefence.
func (t *timeline) listReleases() (all []release) {
	for i := range t.Writes {
		w := &t.Writes[i]
		if !w.ofNodefence() || strings.HasSuffix(w.Agent, "/policystatus") {
			continue
		}
		if r, is := t.asRelease(w); is {
			all = append(all, r)
		}
	}
	return all
}

func (t *timeline) asRelease(w *Write) (r release, is bool) {
	switch {
	case w.Resource == "pods" && w.Verb == "delete":
		var pod corev1.Pod
		var options metav1.DeleteOptions
		if json.Unmarshal(w.Object, &pod) != nil || json.Unmarshal(w.Request, &options) != nil || pod.Spec.NodeName == "" || options.GracePeriodSeconds == nil || *options.GracePeriodSeconds > 0 {
			return r, false
		}
		return release{w, pod.Spec.NodeName, "pod " + w.Namespace + "/" + w.Name + " is force-deleted", false}, true
	case w.Resource == "pods/status":
		var pod corev1.Pod
		if json.Unmarshal(w.Object, &pod) != nil || pod.Status.Phase != corev1.PodFailed {
			return r, false
		}
		return release{w, pod.Spec.NodeName, "pod " + w.Namespace + "/" + w.Name + " is set to Failed", false}, true
	case w.Resource == "volumeattachments" && w.Verb == "delete":
		var a struct{ Spec struct{ NodeName string } }
		if json.Unmarshal(w.Object, &a) != nil || a.Spec.NodeName == "" {
			t.leaveOut("the deletion of VolumeAttachment %s: the log does not say of which node it is", w.Name)
			return r, false
		}
		return release{w, a.Spec.NodeName, "VolumeAttachment " + w.Name + " is deleted", false}, true
	case w.Resource == "nodes" && w.Verb == "delete":
		return release{w, w.Name, "the Node is deleted", true}, true
	case w.Resource == "nodes":
		return release{w, w.Name, "the out-of-service taint is placed", true}, t.placesOutOfService(w)
	}
	return r, false
}

func (t *timeline) placesOutOfService(w *Write) bool {
	was := t.nodes[w.Name].lastBefore(w)
	is := parseObject[corev1.Node](w)
	return is.object != nil && hasTaint(is.object, outOfService) && (was == nil || was.object == nil || !hasTaint(was.object, outOfService))
}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// judgeReleases holds each release against the proof of its fence.
func (t *timeline) judgeReleases() {
	for _, r := range t.listReleases() {
		if t.declares(OthersWrite, r.node) {
			continue
		}
		t.countOne("releases")
		v := t.basisOf(r)
		if v == nil {
			t.judgeWithoutBasis(r)
			continue
		}
		t.judgeRelease(r, v)
	}
}

// basisOf returns the version of the fence on which a release rests: the last version with a proof, whose
// batch may include the release. A batch is saved first, and ends by status.release.notAfter.
func (t *timeline) basisOf(r release) *version[api.NodeFence] {
	all := t.fences[r.node]
	for i := range slices.Backward(all) {
		v := &all[i]
		if v.Epoch != r.Epoch || v.Received.After(r.Received) || v.object == nil || v.object.Status.Proof == nil {
			continue
		}
		if end := v.object.Status.Release.NotAfter; end == nil || r.Received.After(end.Add(clockSlack)) {
			continue
		}
		if r.Received.Sub(v.Received) > time.Minute+longerCalls(v.object) {
			return nil
		}
		return v
	}
	return nil
}

func (t *timeline) judgeWithoutBasis(r release) {
	v := t.fences[r.node].lastAt(r.Received)
	if v == nil || v.Epoch != r.Epoch {
		t.leaveOut("a release of %s: the history has no version of its NodeFence before it", r.node)
		return
	}
	number := int64(0)
	if v.object != nil {
		number = v.object.Status.FenceNumber
	}
	t.addBreach(proofFirst, r.node, number, r.what+" without a proof and a batch that was saved before", v.cite("the last version of the NodeFence before it"), r.cite(r.what))
}

func (t *timeline) judgeRelease(r release, v *version[api.NodeFence]) {
	f, p := v.object, v.object.Status.Proof
	against := func(promise, what string, more ...Cited) {
		t.addBreach(promise, r.node, f.Status.FenceNumber, r.what+" although "+what, append(more, v.cite(fmt.Sprintf("the %s proof of %s", p.Type, p.At.UTC().Format("15:04:05.000"))), r.cite(r.what))...)
	}
	switch holds := proofHolds + longerCalls(f); {
	case p.FenceNumber != f.Status.FenceNumber || p.FenceUID != f.UID:
		against(aboutThis, "the proof is of another fence")
	case p.Type == api.ProofKdump && r.Received.Sub(p.At.Time) > dumpHolds+clockSlack,
		p.Type != api.ProofConfirmed && p.Type != api.ProofKdump && r.Received.Sub(p.At.Time) > holds+clockSlack:
		against(aboutThis, fmt.Sprintf("the proof is %s old", r.Received.Sub(p.At.Time).Round(time.Millisecond)))
	}
	if r.wholly && (p.Type == api.ProofStorageCut || p.Type == api.ProofKdump) {
		against(proofFirst, "a "+string(p.Type)+" proof frees pods only")
	}
	t.judgeTarget(r, f, against)
	t.judgeLife(r, v, against)
}

// judgeTarget: a deletion names the UID of its object, and the Node is the fenced Node.
func (t *timeline) judgeTarget(r release, f *api.NodeFence, against func(promise, what string, more ...Cited)) {
	if r.Verb == "delete" {
		var options metav1.DeleteOptions
		if json.Unmarshal(r.Request, &options) != nil || options.Preconditions == nil || options.Preconditions.UID == nil {
			against(whatWasFenced, "the deletion names no UID")
		}
	}
	n := t.nodes[r.node].lastAt(r.Received)
	if n != nil && n.Epoch == r.Epoch && n.object != nil && n.object.UID != f.Status.Decision.NodeUID {
		against(whatWasFenced, "the Node has UID "+string(n.object.UID)+", and the fence is of Node "+string(f.Status.Decision.NodeUID), n.cite("the Node as it stands"))
	}
}

// judgeLife: when the batch was saved, no sign of life could be seen: no moved Lease, no new boot, and no
// read of on. The record says which renewal of the Lease nodefence has seen. Other signs count if they came
// lookTakes before.
func (t *timeline) judgeLife(r release, v *version[api.NodeFence], against func(promise, what string, more ...Cited)) {
	p := v.object.Status.Proof
	if p.Type == api.ProofStorageCut {
		return // the machine may live: it does not write
	}
	seen := interval{t.savedAt(r.node, v), v.Received.Add(-lookTakes)}
	for _, w := range t.renewals[r.node] {
		known := w.Received.After(p.At.Add(clockSlack)) && w.renewTime() != "" && w.renewTime() == v.object.Status.Lease.Renewed
		if seen.has(w.Received) && seen.has(w.Done) || known {
			against(aboutThis, "the node's Lease moved after the proof", w.cite("the Lease is renewed"))
			break
		}
	}
	for _, b := range t.boots[r.node] {
		if p.BootIDBefore != "" && b.id != p.BootIDBefore && seen.has(b.Received) {
			against(aboutThis, "the machine has booted after the proof", b.cite("boot ID "+b.id))
			break
		}
	}
	if !r.wholly {
		return
	}
	var last *Command
	for _, c := range t.told[r.node] {
		if c.Says != "" && seen.has(c.Time) && !strings.Contains(c.Controller, ".") {
			last = c
		}
	}
	if last != nil && last.Says == "on" {
		against(neverOnWhileOn, "its device reads on", last.cite())
	}
}

// savedAt is when the proof of a version was first saved.
func (t *timeline) savedAt(node string, v *version[api.NodeFence]) time.Time {
	first := v
	for i := range slices.Backward(t.fences[node]) {
		u := &t.fences[node][i]
		switch {
		case u.Epoch != v.Epoch || !u.precedes(v.Write):
		case u.object == nil || u.object.Status.Proof == nil || !u.object.Status.Proof.At.Equal(&v.object.Status.Proof.At):
			return first.Received
		default:
			first = u
		}
	}
	return first.Received
}

// renewTime is the time in a renewal of a Lease, as NodeFence.status.lease has it.
func (w *Write) renewTime() string {
	var l struct{ Spec struct{ RenewTime string } }
	if json.Unmarshal(w.Request, &l) != nil {
		return ""
	}
	return l.Spec.RenewTime
}

package judge

import (
	"encoding/json"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// keepBytes bounds the bodies of a history.
const keepBytes = 256 << 20

// addWrite adds a write with the parts of its bodies that the rules read. A write of another resource is left out.
func (h *History) addWrite(w Write) {
	trim := trims[w.Resource]
	if trim == nil {
		return
	}
	trim(&w)
	if h.Begins.IsZero() {
		h.Begins = w.Received
	}
	h.Writes = append(h.Writes, w)
	h.bytes += w.size()
	most := h.KeepBytes
	if most == 0 {
		most = keepBytes
	}
	if h.bytes > max(most, h.forgetAt) {
		h.forgetOldest()
	}
}

func (w *Write) size() int { return len(w.Request) + len(w.Object) }

// forgetOldest forgets the older half of the writes. Of each object of the rules the last version in that half is kept: it
// stands until the next one.
func (h *History) forgetOldest() {
	half := len(h.Writes) / 2
	last := map[string]int{}
	for i := range h.Writes[:half] {
		if key := h.Writes[i].standsAs(); key != "" {
			last[key] = i
		}
	}
	var kept []Write
	for i := range h.Writes[:half] {
		if key := h.Writes[i].standsAs(); key != "" && last[key] == i {
			kept = append(kept, h.Writes[i])
		}
	}
	h.Begins = h.Writes[half].Received
	h.Writes = append(kept, h.Writes[half:]...)
	h.bytes = 0
	for i := range h.Writes {
		h.bytes += h.Writes[i].size()
	}
	h.forgetAt = h.bytes + h.bytes/2 // a history of large objects is not gone through with each write
}

// standsAs names the object of which a write is a version; empty where only the writes count.
func (w *Write) standsAs() string {
	kind, _, _ := strings.Cut(w.Resource, "/")
	switch {
	case w.Resource == "nodes/status":
		return "boot of " + w.Name
	case kind == "nodefences", kind == "fenceledgers", kind == "fencepolicies", kind == "nodes":
		return kind + " " + w.Name
	}
	return ""
}

// trims has, by resource, what keeps of the bodies of a write only the parts that a rule reads.
var trims = map[string]func(*Write){
	"nodefences": trimFence, "nodefences/status": trimFence,
	"fenceledgers": trimLedger, "fenceledgers/status": trimLedger,
	"fencepolicies": func(w *Write) {
		w.Request = nil
		trimObject(w, func(o *api.FencePolicy) { o.ManagedFields, o.Status = nil, api.FencePolicyStatus{} })
	},
	"nodes":        trimNode,
	"nodes/status": trimBoot,
	"leases":       trimLease,
	"pods":         trimPod, "pods/status": trimPod,
	"volumeattachments": func(*Write) {},
}

// trimObject reads the answer, changes it, and keeps that. An answer of another kind stays as it is.
func trimObject[T any](w *Write, change func(*T)) {
	var kind metav1.TypeMeta
	o := new(T)
	if json.Unmarshal(w.Object, &kind) != nil || kind.Kind == "Status" || json.Unmarshal(w.Object, o) != nil {
		return
	}
	change(o)
	if text, err := json.Marshal(o); err == nil {
		w.Object = text
	}
}

func trimFence(w *Write) {
	w.Request = nil
	trimObject(w, func(o *api.NodeFence) {
		st := &o.Status
		o.ManagedFields, st.History, st.Past, st.Conditions, st.Views = nil, nil, nil, nil, api.Views{}
	})
}

func trimLedger(w *Write) {
	w.Request = nil
	trimObject(w, func(o *api.FenceLedger) { o.ManagedFields, o.Status.Census, o.Status.Conditions = nil, nil, nil })
}

// trimNode keeps of the request whether it makes the node unschedulable.
func trimNode(w *Write) {
	trimObject(w, func(o *corev1.Node) {
		meta := metav1.ObjectMeta{
			Name: o.Name, UID: o.UID, Labels: o.Labels, Annotations: o.Annotations, ResourceVersion: o.ResourceVersion,
			DeletionTimestamp: o.DeletionTimestamp, Finalizers: o.Finalizers,
		}
		*o = corev1.Node{TypeMeta: o.TypeMeta, ObjectMeta: meta, Spec: corev1.NodeSpec{Taints: o.Spec.Taints, Unschedulable: o.Spec.Unschedulable}}
	})
	if w.Verb == "delete" {
		return // the options of the deletion
	}
	var asked corev1.Node
	if json.Unmarshal(w.Request, &asked) != nil || !asked.Spec.Unschedulable {
		w.Request = nil
		return
	}
	w.Request = json.RawMessage(`{"spec":{"unschedulable":true}}`)
}

func trimBoot(w *Write) {
	var n corev1.Node
	w.Object = nil
	if json.Unmarshal(w.Request, &n) != nil || n.Status.NodeInfo.BootID == "" {
		w.Request = nil
		return
	}
	w.Request, _ = json.Marshal(map[string]any{"status": map[string]any{"nodeInfo": map[string]string{"bootID": n.Status.NodeInfo.BootID}}})
}

func trimLease(w *Write) {
	var l coordinationv1.Lease
	w.Object = nil
	if json.Unmarshal(w.Request, &l) != nil || l.Spec.RenewTime == nil {
		w.Request = nil
		return
	}
	w.Request, _ = json.Marshal(map[string]any{"spec": map[string]string{"renewTime": l.Spec.RenewTime.UTC().Format(time.RFC3339Nano)}})
}

func trimPod(w *Write) {
	trimObject(w, func(o *corev1.Pod) {
		meta := metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion, DeletionTimestamp: o.DeletionTimestamp, Finalizers: o.Finalizers}
		*o = corev1.Pod{TypeMeta: o.TypeMeta, ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: o.Spec.NodeName}, Status: corev1.PodStatus{Phase: o.Status.Phase}}
	})
	if w.Verb != "delete" {
		w.Request = nil
	}
}

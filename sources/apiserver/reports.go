package apiserver

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// reportOf tells whether a Kubernetes Event reports a problem of a node, and which.
func reportOf(ev *corev1.Event) (events.ProblemReport, bool) {
	r, said := wordsOf(ev)
	return r, said && ev.InvolvedObject.Kind == "Node" && !ordinary(r.Component)
}

// wordsOf is what an Event says, and whether it says a problem at all.
func wordsOf(ev *corev1.Event) (events.ProblemReport, bool) {
	r := events.ProblemReport{
		Node: ev.InvolvedObject.Name, Report: string(ev.UID), Component: ev.Source.Component, Reason: ev.Reason,
		Message: ev.Message, Count: nodeproblem.Times(ev), First: ev.FirstTimestamp.Time, Last: ev.LastTimestamp.Time,
	}
	if r.Component == "" { // of events.k8s.io, which has other fields for the same
		r.Component = ev.ReportingController
	}
	if r.First.IsZero() {
		r.First = firstOf(ev.EventTime.Time, ev.CreationTimestamp.Time)
	}
	if ev.Series != nil {
		r.Last = ev.Series.LastObservedTime.Time
	}
	r.Last = firstOf(r.Last, r.First)
	// Other groups have a kind Node too.
	core := ev.InvolvedObject.APIVersion == "" || ev.InvolvedObject.APIVersion == "v1"
	said := strings.TrimSpace(events.Printable(r.Reason)) != "" && strings.TrimSpace(events.Printable(r.Component)) != ""
	return r, core && said && ev.Type != corev1.EventTypeNormal
}

// ordinary reporters tell what the conditions say too, or what nodefence did.
func ordinary(component string) bool {
	return slices.Contains([]string{"kubelet", "node-controller", "kube-proxy"}, component) ||
		strings.HasPrefix(component, "cloud-node-") || strings.HasPrefix(component, "nodefence")
}

// isOf tells whether an Event means this Node object and not an earlier one of
// its name. Who runs on the node often knows its name only, and takes it for the UID.
func isOf(ref corev1.ObjectReference, v nodeView) bool {
	uid := string(ref.UID)
	return uid == "" || uid == ref.Name || uid == v.uid
}

func firstOf(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

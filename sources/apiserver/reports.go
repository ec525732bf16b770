package apiserver

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// reportOf reports whether a Kubernetes Event is about a problem of a node, and returns it.
func reportOf(ev *corev1.Event) (events.ProblemReport, bool) {
	r, said := wordsOf(ev)
	return r, said && ev.InvolvedObject.Kind == "Node" && !ordinary(r.Component)
}

// wordsOf returns the report in an Event, and whether the Event is about a problem at all.
func wordsOf(ev *corev1.Event) (events.ProblemReport, bool) {
	r := events.ProblemReport{
		Node: ev.InvolvedObject.Name, Report: string(ev.UID), Component: ev.Source.Component, Reason: ev.Reason,
		Message: ev.Message, Count: nodeproblem.Times(ev), First: ev.FirstTimestamp.Time, Last: ev.LastTimestamp.Time,
	}
	if r.Component == "" { // an Event of events.k8s.io has other fields for the same values
		r.Component = ev.ReportingController
	}
	if r.First.IsZero() {
		r.First = firstOf(ev.EventTime.Time, ev.CreationTimestamp.Time)
	}
	if ev.Series != nil {
		r.Last = ev.Series.LastObservedTime.Time
	}
	r.Last = firstOf(r.Last, r.First)
	// Other API groups have a kind Node too.
	core := ev.InvolvedObject.APIVersion == "" || ev.InvolvedObject.APIVersion == "v1"
	said := strings.TrimSpace(events.Printable(r.Reason)) != "" && strings.TrimSpace(events.Printable(r.Component)) != ""
	return r, core && said && ev.Type != corev1.EventTypeNormal
}

// ordinary are reporters whose Events repeat conditions of the node, or nodefence's own
// actions.
func ordinary(component string) bool {
	return slices.Contains([]string{"kubelet", "node-controller", "kube-proxy"}, component) ||
		strings.HasPrefix(component, "cloud-node-") || strings.HasPrefix(component, "nodefence")
}

// isOf reports whether an Event is about this Node object, and not about an earlier one of
// the same name. A reporter on the node often knows only the name, and writes the name as
// the UID.
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

package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// reportOf reports whether a Kubernetes Event is about a problem of a node, and returns it.
func reportOf(ev *corev1.Event) (events.ProblemReport, bool) {
	r, _ := wordsOf(ev)
	return r, nodeproblem.OfNode(ev)
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
	return r, nodeproblem.Problem(ev)
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

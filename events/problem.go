package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// ProblemReport is a report about a node: a Kubernetes Event about the node, or about a Pod
// on it.
type ProblemReport struct {
	Node, NodeUID string
	// Pod is the Pod's namespace/name; empty if the Event is about the Node.
	Pod string
	// Report is the Kubernetes Event's UID; UID and Count identify the report.
	Report string
	// Component is the reporter, for example kernel-monitor; Reason is its word for the
	// problem.
	Component, Reason string
	Message           string
	Count             int64
	First, Last       time.Time
}

// Bounds of texts that others wrote, in characters.
const (
	MaxMessage = 256
	maxWord    = 128
)

// Problem says that a problem of a node was reported, Count times so far.
func (s Source) Problem(r ProblemReport, now time.Time) event.Event {
	id := fmt.Sprintf("%s.%d", r.Report, r.Count)
	component, reason := bounded(r.Component, maxWord), bounded(r.Reason, maxWord)
	e := s.event(id, NodeProblem, r.Node, now, Payload{
		Node: r.Node, NodeUID: r.NodeUID, Pod: r.Pod, Component: component, Reason: reason, Message: bounded(r.Message, MaxMessage),
		Count: r.Count, First: r.First.UTC().Format(time.RFC3339Nano), Last: r.Last.UTC().Format(time.RFC3339Nano),
	})
	e.SetExtension(ReasonAttr, reason)
	e.SetExtension(ComponentAttr, component)
	return e
}

// ProblemAgain sends the same report at a resync, because the first event may have been
// lost. The resync's time makes it another event, and the body says that it is no new
// report.
func (s Source) ProblemAgain(r ProblemReport, resync, now time.Time) event.Event {
	e := s.Problem(r, now)
	e.SetID(fmt.Sprintf("%s.r%d", e.ID(), resync.UnixMicro()))
	var p Payload
	_ = e.DataAs(&p) // Problem wrote this data
	p.Due = resync.UTC().Format(time.RFC3339Nano)
	_ = e.SetData(event.ApplicationJSON, p)
	return e
}

// bounded returns the beginning of a text that somebody else wrote, in one line.
func bounded(s string, characters int) string {
	runes := []rune(strings.TrimSpace(Printable(strings.ToValidUTF8(s, " "))))
	return strings.TrimSpace(string(runes[:min(len(runes), characters)]))
}

// Failing passes a report of a Pod's problem on, because the count is enough for its policy
// to move Pods. The ID is the report's own, so that the report is passed on only once.
func (s Source) Failing(report event.Event, node string, now time.Time) event.Event {
	var p Payload
	_ = report.DataAs(&p) // the caller has read this data before
	e := s.event(report.ID()+".failing", PodsFailing, node, now, p)
	e.SetExtension(ReasonAttr, p.Reason)
	e.SetExtension(ComponentAttr, p.Component)
	CausedBy(&e, report)
	return e
}

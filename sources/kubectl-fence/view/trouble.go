package view

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// mendRefusal is the advice where a write or a read of nodefence fails again and again.
const mendRefusal = "mend what refuses nodefence: the error names the webhook, the quota, the admission policy or the right that is missing; nodefence tries again by itself"

// unsavedFor is for how long an Event about a record that can't be written counts: nodefence
// writes another one every five minutes while that lasts.
const unsavedFor = 6 * time.Minute

// trouble adds to a.What what the last look or action of nodefence ran into, and reports whether
// there is anything. The record says so; if the record itself can't be written, an Event on the
// Node does.
func (s *Seen) trouble(a *Answer, f *api.NodeFence) bool {
	says := false
	if f != nil && f.Open() && f.Status.LastError != nil {
		e := f.Status.LastError
		doing := "the last " + e.Action
		if e.Action == api.LookFailed {
			doing = "the last look"
		}
		a.What += fmt.Sprintf("; %s failed, for %s, last at %s: %s", doing, s.since(&e.Since), stamp(e.At.Time), e.Message)
		says = true
	}
	if e := s.unsaved(a.Node); e != nil {
		_, words, _ := strings.Cut(e.Message, "] ")
		a.What += fmt.Sprintf("; an Event of %s says: %s", stamp(e.LastTimestamp.Time), words)
		if a.Do, a.Run = mendRefusal, ""; a.Reason == "" {
			a.Reason = api.RecordNotSaved
		}
		says = true
	}
	return says
}

// unsaved is the newest Event that says that the node's record can't be written; nil if there is
// none, or if it is old.
func (s *Seen) unsaved(node string) (last *corev1.Event) {
	for i := range s.Events {
		e := &s.Events[i]
		ofIt := e.InvolvedObject.Kind == "Node" && e.InvolvedObject.Name == node && e.Reason == string(api.RecordNotSaved)
		if ofIt && s.Now.Sub(e.LastTimestamp.Time) < unsavedFor && (last == nil || e.LastTimestamp.After(last.LastTimestamp.Time)) {
			last = e
		}
	}
	return last
}

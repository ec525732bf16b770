package nodeproblem

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lookback is how far back node-problem-detector's own monitors read a log when they start.
const lookback = 5 * time.Minute

// combined is the prefix of an Event's message once ten messages of one reason differ:
// client-go's recorder then counts further ones in this Event. The rest of the message is
// the newest of them.
const combined = "(combined from similar events): "

// window is the time whose reports count.
type window struct {
	since time.Time
	// known is the start of the time before the window. A monitor that was restarted may
	// repeat reports from that time.
	known time.Time
}

// count returns how often a problem was reported in a window, and for which objects. A
// monitor that is restarted reads its log again, and reports old lines as new Events with
// new counts. So of the Events with the same words the largest count is used, and never the
// sum: the result is never more than was reported.
func count(all []corev1.Event, want Rule, w window, counts func(*corev1.Event) bool) (r Reports, of map[types.UID]bool) {
	of = map[types.UID]bool{}
	told := map[speaker]*tally{}
	var lately []*corev1.Event
	for i := range all {
		ev := &all[i]
		if ev.Reason != want.Reason || want.Component != "" && reporter(ev) != want.Component || !counts(ev) || !ToldAt(ev).After(w.known) {
			continue
		}
		t := told[speakerOf(ev)]
		if t == nil {
			t = &tally{lines: map[string]*line{}}
			told[speakerOf(ev)] = t
		}
		t.know(ev, w.since)
		if ToldAt(ev).After(w.since) {
			lately = append(lately, ev)
		}
	}
	for _, ev := range lately {
		if !told[speakerOf(ev)].add(ev, w.since) {
			continue
		}
		of[ev.InvolvedObject.UID] = true
		first := ToldAt(ev)
		if ev.CreationTimestamp.After(w.since) {
			first = ev.CreationTimestamp.Time
		}
		if r.First.IsZero() || first.Before(r.First) {
			r.First = first
		}
	}
	for _, t := range told {
		r.Times += t.times()
	}
	return r, of
}

// speaker is a reporter, and the Pod of its reports. Reports about the node need no more,
// because there is only one Node object, which reporters name in several ways.
type speaker struct {
	component string
	pod       types.UID
}

func speakerOf(ev *corev1.Event) speaker {
	s := speaker{component: reporter(ev)}
	if ev.InvolvedObject.Kind == "Pod" {
		s.pod = ev.InvolvedObject.UID
	}
	return s
}

func reporter(ev *corev1.Event) string {
	if ev.Source.Component == "" { // an Event of events.k8s.io has other fields for the same values
		return ev.ReportingController
	}
	return ev.Source.Component
}

// tally is what one speaker reported of one problem.
type tally struct {
	lines map[string]*line
	// mixed counts the Events that stand for several messages; begun is when the first of
	// them was created.
	mixed line
	begun time.Time
}

// line counts the Events with the same words.
type line struct {
	// known is how often it was reported before the window.
	known int64
	// early is the count in Events that were created before the mixed ones; all is the
	// count in any Event.
	early, all int64
}

// know notes what was reported before the window, and since when Events mix messages.
func (t *tally) know(ev *corev1.Event, since time.Time) {
	l := t.line(ev)
	if l == &t.mixed && (t.begun.IsZero() || ev.CreationTimestamp.Time.Before(t.begun)) {
		t.begun = ev.CreationTimestamp.Time
	}
	switch {
	case ev.CreationTimestamp.After(since):
	case ToldAt(ev).After(since): // at least once since then
		l.known = max(l.known, Times(ev)-1)
	default:
		l.known = max(l.known, Times(ev))
	}
}

// add counts an Event, and reports whether it adds anything new. For an Event that began
// before the window, the times of its reports are unknown: it counts once.
func (t *tally) add(ev *corev1.Event, since time.Time) bool {
	l := t.line(ev)
	n := int64(1)
	if ev.CreationTimestamp.After(since) {
		n = Times(ev) - l.known
	}
	if n <= 0 {
		return false
	}
	l.all = max(l.all, n)
	if !ev.CreationTimestamp.After(t.begun) {
		l.early = max(l.early, n)
	}
	return true
}

func (t *tally) line(ev *corev1.Event) *line {
	if ev.Series != nil || strings.HasPrefix(ev.Message, combined) {
		return &t.mixed
	}
	l := t.lines[ev.Message]
	if l == nil {
		l = &line{}
		t.lines[ev.Message] = l
	}
	return l
}

// times is the least number of reports. After a restart, a report that a mixed Event
// counted may be repeated by an Event of its own: the larger of the two counts.
func (t *tally) times() int64 {
	var early, late int64
	for _, l := range t.lines {
		early += l.early
		late += l.all - l.early
	}
	return early + max(late-t.mixed.known, t.mixed.all)
}

// Times is how often an Event says that it happened: at least once.
func Times(ev *corev1.Event) int64 {
	n := max(1, ev.Count)
	if ev.Series != nil {
		n = max(n, ev.Series.Count)
	}
	return int64(n)
}

// ToldAt is when the API server last received the Event, by its own clock: the reporter's
// clock may be wrong (S30: one clock, the API server's).
func ToldAt(ev *corev1.Event) time.Time {
	at := ev.CreationTimestamp.Time
	for _, m := range ev.ManagedFields {
		if m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

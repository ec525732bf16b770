package nodeproblem

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lookback is how far back the monitors that node-problem-detector ships read a log
// when they start.
const lookback = 5 * time.Minute

// combined begins the message of an Event in which client-go's recorder counts on
// when ten messages of one reason differ. The rest is the newest of them.
const combined = "(combined from similar events): "

// window is the time whose reports count.
type window struct {
	since time.Time
	// known is the beginning of the time before, whose reports a monitor that was
	// restarted may repeat.
	known time.Time
}

// count is how often a problem was reported in a window, and of what. A monitor that
// is restarted reads its log again, and reports old lines as new Events with new
// counts. So of the Events that say the same the largest counts, and never their sum:
// what it comes to is never more than was reported.
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

// speaker is who reports, and of which Pod. Of a node there is one Node object only,
// which reporters name in several ways.
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
	if ev.Source.Component == "" { // of events.k8s.io, which has other fields for the same
		return ev.ReportingController
	}
	return ev.Source.Component
}

// tally is what one speaker reported of one problem.
type tally struct {
	lines map[string]*line
	// mixed are the Events that stand for several messages, and begun when the first
	// of them was created.
	mixed line
	begun time.Time
}

// line is what Events with the same words come to.
type line struct {
	// known was reported before the window.
	known int64
	// early is what Events say that were created before mixed ones were, all what any say.
	early, all int64
}

// know takes in what was reported before the window, and since when Events mix messages.
func (t *tally) know(ev *corev1.Event, since time.Time) {
	l := t.line(ev)
	if l == &t.mixed && (t.begun.IsZero() || ev.CreationTimestamp.Time.Before(t.begun)) {
		t.begun = ev.CreationTimestamp.Time
	}
	switch {
	case ev.CreationTimestamp.After(since):
	case ToldAt(ev).After(since): // once since then, at the least
		l.known = max(l.known, Times(ev)-1)
	default:
		l.known = max(l.known, Times(ev))
	}
}

// add counts an Event, and tells whether it says anything new. When the occurrences of
// one that began before the window were is not known: it counts once.
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

// times is how often it was reported at the least. After a restart, what a mixed Event
// counted may be reported once more by itself: of the two the larger counts.
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

// ToldAt is when the API server was last told of it, by its own clock: the reporter's may
// be wrong (S30).
func ToldAt(ev *corev1.Event) time.Time {
	at := ev.CreationTimestamp.Time
	for _, m := range ev.ManagedFields {
		if m.Time != nil && m.Time.After(at) {
			at = m.Time.Time
		}
	}
	return at
}

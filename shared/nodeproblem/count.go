package nodeproblem

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence/observed"
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
	now   time.Time
	// used are the Events that asked for a fence of the node before.
	used []string
}

// begins reports whether the API server created an Event in the window. An Event from a time that is
// still to come is of unknown age, because a clock was set back, and counts for nothing.
func (w window) begins(ev *corev1.Event) bool { return ToldAt(ev).After(w.since) && w.counts(ev) }

// counts reports whether an Event may count in this window, or may be what a later Event repeats.
func (w window) counts(ev *corev1.Event) bool {
	return ToldAt(ev).After(w.known) && !observed.Ahead(ToldAt(ev), w.now)
}

// count returns how often a problem was reported in a window, and for which objects. Each Event
// counts once, by its UID: everybody who may write Events writes their counts, series and times. A
// monitor that is restarted reads its log again, and reports old lines as new Events. So Events with
// the same words count once together, and not at all if such an Event is used up or from before the
// window: the result is never more than was reported.
func count(all []corev1.Event, want Rule, w window, counts func(*corev1.Event) bool) (r Reports, of map[types.UID]bool) {
	of = map[types.UID]bool{}
	told := map[speaker]*tally{}
	var lately []*corev1.Event
	for i := range all {
		ev := &all[i]
		if ev.Reason != want.Reason || want.Component != "" && reporter(ev) != want.Component || !counts(ev) || !w.counts(ev) {
			continue
		}
		t := told[speakerOf(ev)]
		if t == nil {
			t = &tally{known: map[string]bool{}, lines: map[string]bool{}}
			told[speakerOf(ev)] = t
		}
		if isCombined(ev) && (t.begun.IsZero() || ToldAt(ev).Before(t.begun)) {
			t.begun = ToldAt(ev)
		}
		if slices.Contains(w.used, string(ev.UID)) || !w.begins(ev) {
			t.know(ev)
		} else {
			lately = append(lately, ev)
		}
	}
	slices.SortStableFunc(lately, func(a, b *corev1.Event) int { return ToldAt(a).Compare(ToldAt(b)) })
	for _, ev := range lately {
		r.UIDs = append(r.UIDs, string(ev.UID))
		if told[speakerOf(ev)].add(ev) {
			of[ev.InvolvedObject.UID] = true
			r.note(ev)
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
	// known are the words of used-up Events, and of Events from before the window.
	known map[string]bool
	// lines are the words of the Events that count.
	lines map[string]bool
	// begun is when the first Event was created that stands for several messages.
	begun time.Time
	// mixed reports whether such an Event counts; early and late count the other Events, of before
	// begun and since.
	mixed       bool
	early, late int64
}

// know notes an Event whose repetitions count for nothing.
func (t *tally) know(ev *corev1.Event) {
	t.known[wordsOf(ev)] = true
}

// add counts an Event, and reports whether it adds anything new.
func (t *tally) add(ev *corev1.Event) bool {
	words := wordsOf(ev)
	if t.known[words] || t.lines[words] {
		return false
	}
	t.lines[words] = true
	if isCombined(ev) {
		t.mixed = true
		return true
	}
	if t.begun.IsZero() || !ToldAt(ev).After(t.begun) {
		t.early++
	} else {
		t.late++
	}
	return true
}

// wordsOf returns the words that tell the Events of a speaker apart: the same for all combined Events.
func wordsOf(ev *corev1.Event) string {
	if isCombined(ev) {
		return combined
	}
	return ev.Message
}

// times is the least number of reports. After a restart, a report that stood in a combined
// Event may be repeated by an Event of its own: the larger of the two counts.
func (t *tally) times() int64 {
	if t.mixed {
		return t.early + max(t.late, 1)
	}
	return t.early + t.late
}

// isCombined reports whether an Event stands for several messages.
func isCombined(ev *corev1.Event) bool {
	return ev.Series != nil || strings.HasPrefix(ev.Message, combined)
}

// Times is how often an Event says that it happened: at least once. It is the sender's word, for
// people and metrics, and no threshold counts it.
func Times(ev *corev1.Event) int64 {
	n := max(1, ev.Count)
	if ev.Series != nil {
		n = max(n, ev.Series.Count)
	}
	return int64(n)
}

// ToldAt is when the API server created the Event, by its own clock (S30: one clock, the API
// server's). No client can choose that time. Managed fields also have times, and a client may write
// them (S18: no event is believed).
func ToldAt(ev *corev1.Event) time.Time { return ev.CreationTimestamp.Time }

package nodeproblem

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// reported answers with the same Events about a Node at each question.
type reported struct {
	Reader
	events []corev1.Event
}

func (r reported) NodeEvents(context.Context, string) ([]corev1.Event, error) { return r.events, nil }

// restart is what node-problem-detector (1.37.0-alpha.1, its own file log monitor and
// rules) wrote to an API server: of a log with 2 hung tasks, 3 times the same line about
// a device, and 14 oopses at different addresses; then after its restart, with no new
// line; then of a fifteenth oops.
type restart struct{ First, Restarted, OneMore []corev1.Event }

func readRestart(t *testing.T) (r restart) {
	t.Helper()
	b, err := os.ReadFile("testdata/restart.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// after is what the API server holds once these were written.
func after(all []corev1.Event, more ...corev1.Event) []corev1.Event {
	all = slices.Clone(all)
	for _, m := range more {
		if i := slices.IndexFunc(all, func(ev corev1.Event) bool { return ev.UID == m.UID }); i >= 0 {
			all[i] = m
			continue
		}
		all = append(all, m)
	}
	return all
}

func timesOfEach(t *testing.T, within time.Duration, now time.Time, all []corev1.Event) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	for _, reason := range []string{"TaskHung", "UnregisterNetDevice", "KernelOops"} {
		want := Rule{About: api.AboutNode, Reason: reason, Component: "kernel-monitor", Count: 3, Within: within}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "u"}}
		r, err := Reported(t.Context(), reported{events: all}, n, want, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		got[reason] = r.Times
	}
	return got
}

// TestAMonitorsRestartReportsNothingNew: node-problem-detector reads its log again when
// it starts, and reports what it reported before.
func TestAMonitorsRestartReportsNothingNew(t *testing.T) {
	r := readRestart(t)
	twice := after(r.First, r.Restarted...)
	more := after(twice, r.OneMore...)
	begun := r.First[0].CreationTimestamp.Time
	again := r.Restarted[0].CreationTimestamp.Time
	for name, c := range map[string]struct {
		events []corev1.Event
		since  time.Time
		now    time.Time
		want   map[string]int64
	}{
		"before it":                                    {r.First, begun.Add(-time.Second), again, map[string]int64{"TaskHung": 2, "UnregisterNetDevice": 1, "KernelOops": 10}},
		"after it":                                     {twice, begun.Add(-time.Second), again, map[string]int64{"TaskHung": 2, "UnregisterNetDevice": 1, "KernelOops": 10}},
		"after it and one line more":                   {more, begun.Add(-time.Second), again, map[string]int64{"TaskHung": 2, "UnregisterNetDevice": 1, "KernelOops": 10}},
		"after it, by a time that began between":       {twice, again.Add(-time.Second), again, map[string]int64{"TaskHung": 0, "UnregisterNetDevice": 0, "KernelOops": 0}},
		"one line more, by a time that began between":  {more, again.Add(-time.Second), again, map[string]int64{"TaskHung": 0, "UnregisterNetDevice": 0, "KernelOops": 0}},
		"after it, of Events from before that is lost": {r.Restarted, again.Add(-time.Second), again, map[string]int64{"TaskHung": 2, "UnregisterNetDevice": 1, "KernelOops": 10}},
	} {
		now := c.now.Add(10 * time.Second)
		if d := cmp.Diff(c.want, timesOfEach(t, now.Sub(c.since), now, c.events)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestReportsCountByMessage: each Event counts once, Events with the same words count once together, and an
// Event that stands for several is not counted beside them twice. What its sender wrote of counts and times
// counts for nothing (S18).
func TestReportsCountByMessage(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	told := func(ago time.Duration, message string, count int32, change ...func(*corev1.Event)) corev1.Event {
		ev := corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-ago))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a"},
			Type:           corev1.EventTypeWarning, Reason: "R", Message: message, Count: count, Source: corev1.EventSource{Component: "m"},
		}
		for _, c := range change {
			c(&ev)
		}
		return ev
	}
	series := func(n int32) func(*corev1.Event) {
		return func(ev *corev1.Event) {
			ev.Count, ev.Source, ev.ReportingController = 0, corev1.EventSource{}, "m"
			if n > 0 {
				ev.Series = &corev1.EventSeries{Count: n}
			}
		}
	}
	again := func(ago time.Duration) func(*corev1.Event) {
		return func(ev *corev1.Event) {
			at := metav1.NewTime(now.Add(-ago))
			ev.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &at}}
		}
	}
	of := func(pod string) func(*corev1.Event) {
		return func(ev *corev1.Event) { ev.InvolvedObject.Kind, ev.InvolvedObject.UID = "Pod", types.UID(pod) }
	}
	by := func(component string) func(*corev1.Event) {
		return func(ev *corev1.Event) { ev.Source.Component = component }
	}
	used := func(ev *corev1.Event) { ev.UID = "used" }
	const minute = time.Minute
	for name, c := range map[string]struct {
		events []corev1.Event
		want   int64
	}{
		"one Event that says that it came four times":    {[]corev1.Event{told(minute, "x", 4)}, 1},
		"the same words in two Events":                   {[]corev1.Event{told(minute, "x", 4), told(0, "x", 5)}, 1},
		"other words":                                    {[]corev1.Event{told(minute, "x", 4), told(0, "y", 5)}, 2},
		"the same words of two Pods":                     {[]corev1.Event{told(minute, "x", 4, of("1")), told(0, "x", 5, of("2"))}, 2},
		"the same words of two components":               {[]corev1.Event{told(minute, "x", 4), told(0, "x", 5, by("n"))}, 2},
		"one that began before the time":                 {[]corev1.Event{told(11*minute, "x", 4, again(minute))}, 0},
		"one that began before, and its repetition":      {[]corev1.Event{told(11*minute, "x", 4, again(minute)), told(0, "x", 4)}, 0},
		"one that was told before, and its repetition":   {[]corev1.Event{told(11*minute, "x", 4), told(0, "x", 5)}, 0},
		"one that was told too long before for that":     {[]corev1.Event{told(16*minute, "x", 4), told(0, "x", 5)}, 1},
		"one whose managed fields are of a time to come": {[]corev1.Event{told(11*minute, "x", 1, again(-30*24*time.Hour))}, 0},
		"one of a time to come":                          {[]corev1.Event{told(-minute, "x", 1)}, 0},
		"one that is used up":                            {[]corev1.Event{told(minute, "x", 1, used)}, 0},
		"one that is used up, and its repetition":        {[]corev1.Event{told(minute, "x", 1, used), told(0, "x", 1)}, 0},
		"one that is used up, and one with other words":  {[]corev1.Event{told(minute, "x", 1, used), told(0, "y", 1)}, 1},
		"a series": {[]corev1.Event{told(minute, "x", 0, series(7))}, 1},
		"a series, and a shorter one with other words":      {[]corev1.Event{told(minute, "x", 0, series(7)), told(0, "y", 0, series(3))}, 1},
		"a series, and the last of it by itself":            {[]corev1.Event{told(minute, "x", 0, series(7)), told(0, "y", 0, series(0))}, 1},
		"combined ones, whose words are of the last":        {[]corev1.Event{told(2*minute, "x", 1), told(minute, combined+"y", 5), told(0, combined+"z", 6)}, 2},
		"combined ones, and all of them by themselves":      {[]corev1.Event{told(2*minute, "x", 1), told(minute, combined+"z", 2), told(0, "y", 1), told(0, "z", 1)}, 3},
		"combined ones, and one more than they by itself":   {[]corev1.Event{told(2*minute, "x", 1), told(minute, combined+"z", 1), told(0, "y", 1), told(0, "z", 1)}, 3},
		"combined ones before the time, then by themselves": {[]corev1.Event{told(12*minute, combined+"z", 2), told(0, "y", 1), told(0, "z", 1)}, 2},
	} {
		r, _ := count(c.events, Rule{Reason: "R"}, window{since: now.Add(-10 * minute), known: now.Add(-15 * minute), now: now, used: []string{"used"}}, func(*corev1.Event) bool { return true })
		if r.Times != c.want {
			t.Errorf("%s: %d, want %d", name, r.Times, c.want)
		}
	}
}

// TestReportsFromBeforeTheNodeCountForNone: a Node was deleted, and another machine has its name (S11).
// Many reporters name a Node by its name alone.
func TestReportsFromBeforeTheNodeCountForNone(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "2", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}}
	told := func(ago time.Duration, uid types.UID, message string) corev1.Event {
		return corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-ago))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a", UID: uid},
			Type:           corev1.EventTypeWarning, Reason: "R", Message: message, Count: 2, Source: corev1.EventSource{Component: "m"},
		}
	}
	again, last := told(2*time.Minute, "a", "x"), metav1.NewTime(now.Add(-time.Second))
	again.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &last}}
	for name, c := range map[string]struct {
		events []corev1.Event
		want   int64
	}{
		"before it, of no UID":             {[]corev1.Event{told(2*time.Minute, "", "x")}, 0},
		"before it, of the name":           {[]corev1.Event{told(2*time.Minute, "a", "x")}, 0},
		"since":                            {[]corev1.Event{told(time.Second, "a", "x")}, 1},
		"before it, and changed since":     {[]corev1.Event{again}, 0},
		"since, and before in other words": {[]corev1.Event{told(2*time.Minute, "a", "x"), told(time.Second, "a", "y")}, 1},
		"since, and before in the same":    {[]corev1.Event{told(2*time.Minute, "a", "x"), told(time.Second, "a", "x")}, 1},
	} {
		r, err := Reported(t.Context(), reported{events: c.events}, n, Rule{About: api.AboutNode, Reason: "R", Count: 1, Within: 10 * time.Minute}, nil, now)
		if err != nil || r.Times != c.want {
			t.Errorf("%s: %d, want %d, %v", name, r.Times, c.want, err)
		}
	}
}

// TestWhichEventsCountForANode: those that the source takes for reports, and no others (S18).
func TestWhichEventsCountForANode(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	from := func(component string) func(*corev1.Event) {
		return func(ev *corev1.Event) { ev.Source.Component = component }
	}
	for name, c := range map[string]struct {
		change func(*corev1.Event)
		want   int64
	}{
		"a monitor's":                  {func(*corev1.Event) {}, 1},
		"one that does not say a type": {func(ev *corev1.Event) { ev.Type = "" }, 1},
		"of the core API by name":      {func(ev *corev1.Event) { ev.InvolvedObject.APIVersion = "v1" }, 1},
		"what is normal":               {func(ev *corev1.Event) { ev.Type = corev1.EventTypeNormal }, 0},
		"of a Node of another API":     {func(ev *corev1.Event) { ev.InvolvedObject.APIVersion = "longhorn.io/v1beta2" }, 0},
		"of another kind":              {func(ev *corev1.Event) { ev.InvolvedObject.Kind = "NodeFence" }, 0},
		"of nobody":                    {from(""), 0},
		"the kubelet's":                {from("kubelet"), 0},
		"the node controller's":        {from("node-controller"), 0},
		"the cloud's":                  {from("cloud-node-lifecycle-controller"), 0},
		"nodefence's own":              {from("nodefence-power"), 0},
		"nodefence's own, of the newer API": {func(ev *corev1.Event) {
			ev.Source, ev.ReportingController = corev1.EventSource{}, "nodefence.io/power"
		}, 0},
	} {
		ev := corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Second))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a"},
			Type:           corev1.EventTypeWarning, Reason: "R", Count: 1, Source: corev1.EventSource{Component: "m"},
		}
		c.change(&ev)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
		r, err := Reported(t.Context(), reported{events: []corev1.Event{ev}}, n, Rule{About: api.AboutNode, Reason: "R", Count: 1, Within: time.Minute}, nil, now)
		if err != nil || r.Times != c.want {
			t.Errorf("%s: %d, want %d, %v", name, r.Times, c.want, err)
		}
	}
}

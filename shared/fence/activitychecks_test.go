package fence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// activitySpec is of a fence whose policy has activity checks: the second
// failed round of two decides.
func activitySpec() fencetest.Given {
	s := fencetest.Spec()
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	s.Decision.Settings.ActivityChecks = &api.ActivitySettings{
		Checks: []api.CheckSettings{{Type: api.CheckKubelet}},
		Rounds: 2, FailedRounds: 2, Interval: d(9), CheckTimeout: d(5), RecheckInterval: d(60), AliveTimeout: d(100), OnAliveTimeout: api.AliveFence,
	}
	return s
}

// storageSpec is of a fence whose policy asks for the storage first.
func storageSpec() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.StorageCheck = &api.StorageSettings{Type: api.StorageTCP, TCP: &api.TCPCheck{Address: "storage:2049"}, Timeout: metav1.Duration{Duration: 5 * time.Second}, ValidDuration: metav1.Duration{Duration: 30 * time.Second}}
	return s
}

// witnesses is what the checks really said, as far as a decision may rest on it.
type witnesses struct {
	// failed rounds since the last sign of life, and when the last of them ended.
	failed   int
	failedAt time.Time
	// alive is when the node was first seen alive, and not found dead since.
	alive time.Time
	// since is when the round before ended, or the fence was opened: a Lease that moved
	// after it lives.
	since time.Time
	// down: the storage was last said to be unreachable, at downAt.
	down   bool
	downAt time.Time
	// others is what the checks beside the device have said in this round.
	others api.Answer
	round  int32
	// done rounds since the last sign of life.
	done int32
}

// heard counts a round whose last answer has just come, or whose time is over, by
// what it showed.
func (w witnesses) heard(s *state, seen fence.Seen, sh shadow, now time.Time) witnesses {
	if w.since.IsZero() {
		w.since = now
	}
	c := seen.Checked
	over := func(r *api.CheckRound, storage bool) (said map[api.Answer]bool) {
		if r == nil || r.StartedAt == nil {
			return nil
		}
		if s.asksDevice() && !storage {
			return w.device(s, seen, r, now)
		}
		said = map[api.Answer]bool{}
		if c != nil && c.Storage == storage && c.Round == r.Number {
			for _, x := range c.Results {
				said[x.Answer] = true
			}
		}
		if now.Sub(r.StartedAt.Time) > 5*time.Second+fence.CheckGrace {
			said[api.AnswerError] = said[api.AnswerError] || said[""] || len(said) == 0
			return said
		}
		if len(said) == 0 || said[""] && !said[api.AnswerActivity] {
			return nil
		}
		return said
	}
	if said := over(s.st.StorageCheck, true); said != nil {
		w.down, w.downAt = said[api.AnswerNone], now
	}
	if s.st.ActivityChecks == nil {
		return w
	}
	said := over(&s.st.ActivityChecks.CheckRound, false)
	if said == nil {
		return w
	}
	still := seen.Lease.Exists && now.Sub(sh.moved) >= 2*fencetest.Renewal
	switch {
	case said[api.AnswerActivity] || seen.Lease.Exists && sh.moved.After(w.since):
		w.failed, w.done = 0, 0
		if w.alive.IsZero() {
			w.alive = now
		}
	case said[api.AnswerError] || !still:
	case !said[api.AnswerNone]:
		w = w.undecided(now)
	default:
		w.done++
		w.failed, w.failedAt = w.failed+1, now
		if w.failed >= 2 {
			w.alive = time.Time{}
		} else if w.done >= 2 {
			w.done--
			w = w.undecided(now)
		}
	}
	w.since = now
	return w
}

// checkActivity: nothing begins that the checks do not bear out.
func (w *walker) checkActivity(s *state, sh *shadow, f *api.NodeFence, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	begins := s.st.Phase != a.Phase && a.Phase == api.Isolating
	x := sh.witnesses
	if p := f.Status.Decision.Settings.StorageCheck; p != nil && begins {
		say(!x.downAt.IsZero(), "storageCheck: no fence begins before the storage was asked for")
		say(!x.down || now.Sub(x.downAt) > p.ValidDuration.Duration, "storageCheck: no fence begins while the storage is unreachable for everyone")
	}
	p := f.Status.Decision.Settings.ActivityChecks
	if p == nil || f.Spec.Requests.ConfirmOff != nil || f.Spec.Requests.Approve != nil {
		return
	}
	long := !x.alive.IsZero() && now.Sub(x.alive) >= p.AliveTimeout.Duration
	if begins {
		say(long || x.failed >= 2 && now.Sub(x.failedAt) <= p.RecheckInterval.Duration, "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long")
	}
	if act.Device() && !sh.served && !w.checkWitness(s, sh, a, act, say) {
		say(long || x.failed >= 2, "activityChecks: no device call before enough checks failed, or it was degraded for too long")
	}
}

// like tells whether a fence goes on like any other from here, whose walk is
// begun elsewhere: its checks are over, or a person took their place.
func (s *state) like(l *look) bool {
	return s.checked() && (s.sh.served || s.st.Phase == api.Releasing || l.confirm)
}

// checked: checks come before this fence.
func (s *state) checked() bool {
	return s.spec.Decision.Settings.ActivityChecks != nil || s.spec.Decision.Settings.StorageCheck != nil
}

// checkedLooks are all that the checks of the round under way can say next.
func checkedLooks(s *state, with func(func(*fence.Seen))) {
	r, storage := s.st.StorageCheck, true
	if r == nil || r.StartedAt == nil {
		storage = false
		if s.st.ActivityChecks == nil || s.st.ActivityChecks.StartedAt == nil {
			return
		}
		r = &s.st.ActivityChecks.CheckRound
	}
	if s.asksDevice() && !storage {
		deviceLooks(s, r, with)
		return
	}
	for _, answers := range [][]api.Answer{{api.AnswerActivity}, {api.AnswerNone}, {api.AnswerError}, {api.AnswerNone, ""}, {api.AnswerActivity, ""}, {api.AnswerNone, api.AnswerError}} {
		c := &fence.Checked{Storage: storage, Round: r.Number}
		for i, a := range answers {
			c.Results = append(c.Results, api.CheckResult{Check: fmt.Sprint(i + 1), Answer: a})
		}
		with(func(y *fence.Seen) { y.Checked = c })
	}
	with(func(y *fence.Seen) {
		y.Checked = &fence.Checked{Storage: storage, Round: r.Number - 1, Results: []api.CheckResult{{Check: "1", Answer: api.AnswerNone}}}
	})
	with(func(y *fence.Seen) {
		y.Checked, y.Lease.Exists = &fence.Checked{Storage: storage, Round: r.Number, Results: []api.CheckResult{{Check: "1", Answer: api.AnswerNone}}}, false
	})
}

// checkedAll: every check of the round under way answers the same.
func checkedAll(st api.NodeFenceStatus, a api.Answer) *fence.Checked {
	if r := st.StorageCheck; r != nil && r.StartedAt != nil {
		return &fence.Checked{Storage: true, Round: r.Number, Results: []api.CheckResult{{Check: "tcp", Answer: api.AnswerActivity}}}
	}
	return &fence.Checked{Round: st.ActivityChecks.Number, Results: []api.CheckResult{{Check: "1 kubelet", Answer: a}}}
}

// activityKey is what tells states with activity checks apart, until power is cut:
// from there it is not read any more, and a restart has forgotten it.
func activityKey(s *state, age func(*api.Time, ...time.Duration) string) string {
	x := s.sh.witnesses
	if p := s.spec.Decision.Settings.StorageCheck; p != nil {
		if s.st.Phase != api.Pending || s.st.StorageCheck == nil {
			return "storage"
		}
		r := s.st.StorageCheck
		return fmt.Sprint("storage", r.StartedAt != nil, age(r.StartedAt, p.Timeout.Duration+fence.CheckGrace), age(r.EndedAt, p.ValidDuration.Duration), answers(r), x.down)
	}
	p, a := s.spec.Decision.Settings.ActivityChecks, s.st.ActivityChecks
	if p == nil {
		return ""
	}
	failedAt, alive := fence.StampOf(x.failedAt), fence.StampOf(x.alive)
	if a == nil || s.st.Phase != api.Pending && !s.reads() {
		return fmt.Sprint("evidence", x.failed >= 2, x.alive.IsZero(), s.asksDevice(), s.alone())
	}
	k := fmt.Sprint("evidence", min(x.failed, 2), min(a.Failed, 2), a.Degraded, a.StartedAt != nil,
		age(&failedAt, p.RecheckInterval.Duration), age(a.FailedAt, p.RecheckInterval.Duration))
	if s.asksDevice() {
		k += fmt.Sprint("done", s.alone(), min(a.Done, 2), min(x.done, 2))
	}
	if a.DegradedSince != nil || !x.alive.IsZero() {
		k += fmt.Sprint("since", age(&alive, p.AliveTimeout.Duration), age(a.DegradedSince, p.AliveTimeout.Duration))
	}
	if a.StartedAt == nil {
		return k + age(a.EndedAt, p.Interval.Duration, p.RecheckInterval.Duration)
	}
	if l := s.st.Lease.StillSince; l != nil {
		k += age(l, 2*fencetest.Renewal) + fmt.Sprint(l.After(x.since))
	}
	return k + age(a.StartedAt, p.CheckTimeout.Duration+fence.CheckGrace) + answers(&a.CheckRound) + s.witnessKey()
}

func answers(r *api.CheckRound) string {
	if !slices.ContainsFunc(r.Results, func(c api.CheckResult) bool { return c.Answer == api.AnswerNone }) {
		return ""
	}
	var all []string
	for _, c := range r.Results {
		all = append(all, string(c.Answer))
	}
	return strings.Join(all, ",")
}

// brokenActivity are Decides that lack one guard of activityChecks each.
var brokenActivity = map[string]decider{
	"makes no activity check": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) { f.Status.Decision.Settings.ActivityChecks = nil }),
	"takes what went wrong for no activity": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == api.AnswerError {
				return api.AnswerNone
			}
			return a
		})
	}),
	"takes what has not answered for no activity": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == "" {
				return api.AnswerNone
			}
			return a
		})
	}),
	"does not hear the one that saw activity": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == api.AnswerActivity {
				return api.AnswerNone
			}
			return a
		})
	}),
	"listens to a round that is over": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if a := f.Status.ActivityChecks; s.Checked != nil && a != nil {
			c := *s.Checked
			c.Round, s.Checked = a.Number, &c
		}
	}),
	"counts as dead on the checks alone, whatever the Lease does": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if f.Status.ActivityChecks != nil && f.Status.Phase == api.Pending {
			long := fence.StampOf(now.Add(-time.Hour))
			s.Lease.Renewed, s.Lease.Exists, f.Status.Lease = "r", true, api.LeaseRecord{Renewed: "r", StillSince: &long}
		}
	}),
	"goes on after the first failed round": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if a := st.ActivityChecks; a != nil && a.Failed == 1 {
			a.Failed = 2
		}
	}),
	"remembers failed rounds past a sign of life": func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if was := f.Status.ActivityChecks; was != nil && st.ActivityChecks != nil && st.ActivityChecks.Degraded && !was.Degraded {
			st.ActivityChecks.Failed, st.ActivityChecks.FailedAt = was.Failed, was.FailedAt
		}
		return st, act
	},
	"lets a failed round speak for ever": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if a := f.Status.ActivityChecks; a != nil && a.FailedAt != nil {
			at := fence.StampOf(now)
			a.FailedAt = &at
		}
	}),
	"fences what is degraded, however short": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if a := f.Status.ActivityChecks; a != nil && a.Degraded {
			at := fence.StampOf(now.Add(-time.Hour))
			a.DegradedSince = &at
		}
	}),
	"does not ask for the storage": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) { f.Status.Decision.Settings.StorageCheck = nil }),
	"does not hear that the storage is unreachable": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if r := f.Status.StorageCheck; r != nil && r.StartedAt == nil {
			r.Results = nil
		}
	}),
}

func eachAnswer(s *fence.Seen, change func(api.Answer) api.Answer) {
	if s.Checked == nil {
		return
	}
	c := *s.Checked
	c.Results = slices.Clone(c.Results)
	for i := range c.Results {
		c.Results[i].Answer = change(c.Results[i].Answer)
	}
	s.Checked = &c
}

func TestEveryBrokenActivityCheckIsCaught(t *testing.T) {
	for name, d := range brokenActivity {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWalker(d)
			w.wants, w.live = breaks[name], false
			w.run(activitySpec(), storageSpec())
			if !w.found() {
				t.Fatalf("it survived the walk, and should break: %s", breaks[name])
			}
		})
	}
}

// What the walk does not come to: the second pass of a flow, and whole counts.
func TestWhatWasSeenBeforeACutIsForgotten(t *testing.T) { // S3, S26
	at := fence.StampOf(fencetest.Start)
	f := &api.NodeFence{Spec: activitySpec().AsSpec(), Status: activitySpec().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Failed, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, CutOrReleased: true,
		ActivityChecks: &api.ActivityRecord{CheckRound: api.CheckRound{Number: 7, EndedAt: &at}, Failed: 2, FailedAt: &at},
	}
	f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "me"}
	st, _ := fence.Decide(f, usual(&state{spec: fencetest.GivenBy(f), st: f.Status}, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
	want := &api.ActivityRecord{CheckRound: api.CheckRound{Number: 7}}
	if d := cmp.Diff(want, st.ActivityChecks); d != "" || st.Phase != api.Pending {
		t.Errorf("%s: %s", st.Phase, d)
	}
}

func TestARoundsVerdict(t *testing.T) {
	still, moved := fence.StampOf(fencetest.Start.Add(-time.Minute)), fence.StampOf(fencetest.Start.Add(time.Second))
	since := fence.StampOf(fencetest.Start)
	for name, c := range map[string]struct {
		lease  *api.Time
		said   []api.Answer
		answer api.Answer
	}{
		"one witness is enough for alive":            {&still, []api.Answer{api.AnswerNone, api.AnswerActivity}, api.AnswerActivity},
		"a Lease that moved is one":                  {&moved, []api.Answer{api.AnswerNone}, api.AnswerActivity},
		"dead by all checks and the Lease":           {&still, []api.Answer{api.AnswerNone, api.AnswerNone}, api.AnswerNone},
		"what went wrong is neither":                 {&still, []api.Answer{api.AnswerNone, api.AnswerError}, api.AnswerError},
		"the checks alone are one witness, too few":  {nil, []api.Answer{api.AnswerNone, api.AnswerNone}, api.AnswerError},
		"a Lease that may still move says nothing":   {&since, []api.Answer{api.AnswerNone}, api.AnswerError},
		"the Lease alone is one witness, too few":    {&still, nil, api.AnswerError},
		"activity beside what went wrong is enough":  {&still, []api.Answer{api.AnswerError, api.AnswerActivity}, api.AnswerActivity},
		"activity without a Lease to be seen is one": {nil, []api.Answer{api.AnswerActivity}, api.AnswerActivity},
	} {
		d := fence.CoreOf(nil, api.NodeFenceStatus{Lease: api.LeaseRecord{StillSince: c.lease}}, fence.Seen{Lease: fence.Lease{Exists: c.lease != nil, Renewal: fencetest.Renewal}}, fencetest.Start.Add(2*time.Second))
		r := &api.CheckRound{Since: &since}
		for _, a := range c.said {
			r.Results = append(r.Results, api.CheckResult{Check: "x", Answer: a})
		}
		if got, what := d.Verdict(r); got != c.answer {
			t.Errorf("%s: %s (%s)", name, got, what)
		}
	}
}

// TestTheEighthOfTen holds the numbers to CloudStack's: more than 0.7 of 10.
func TestTheEighthOfTen(t *testing.T) {
	p := &api.ActivitySettings{Rounds: 10, FailedRounds: 8}
	for failed := range int32(11) {
		if got := fence.Dead(p, &api.ActivityRecord{Failed: failed}); got != (failed >= 8) {
			t.Errorf("%d failed: dead is %v", failed, got)
		}
	}
}

// TestANodeThatIsAliveForTooLong: whoever reads the record sees that the node was
// alive, for how long, and that the policy wants it fenced all the same (S28).
func TestANodeThatIsAliveForTooLong(t *testing.T) {
	began, now := fence.StampOf(fencetest.Start), fencetest.Start.Add(200*time.Second)
	f := &api.NodeFence{Spec: activitySpec().AsSpec(), Status: activitySpec().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &began,
		Evidence:       []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Mark: began, Since: began}},
		ActivityChecks: &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, EndedAt: &began}, Degraded: true, DegradedSince: &began, Saw: "it answers"},
	}
	st, _ := fence.Decide(f, usual(&state{spec: fencetest.GivenBy(f), st: f.Status}, now, "Unknown", false, "a"), now)
	last := st.History[len(st.History)-1]
	want := api.HistoryEntry{At: fence.StampOf(now), Phase: api.Isolating, Reason: api.Admitted, Message: "within all limits; unhealthy and alive since " +
		"2026-01-01T00:00:00Z (it answers), which is longer than 1m40s: going on, as the policy says (activityChecks.onAliveTimeout)"}
	if d := cmp.Diff(want, last); d != "" {
		t.Error(d)
	}
}

package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

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
func (w witnesses) heard(s *State, seen observed.Look, sh shadow, now time.Time) witnesses {
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
		if now.Sub(r.StartedAt.Time) > 5*time.Second+promisedGrace {
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
func (w *walker) checkActivity(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	begins := s.st.Phase != a.Phase && a.Phase == api.Isolating
	x := sh.witnesses
	say(seen.MayCheck || !roundBegins(s.st.StorageCheck, a.StorageCheck) && !roundBegins(activityRound(&s.st), activityRound(a)), "S14, S15: no round of checks begins before all limits were asked")
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

// roundBegins tells whether a round of checks begins in this step.
func roundBegins(b, a *api.CheckRound) bool {
	return a != nil && a.StartedAt != nil && (b == nil || b.StartedAt == nil || b.Number != a.Number)
}

// activityRound is the record's round of activity checks; nil if there is none.
func activityRound(st *api.NodeFenceStatus) *api.CheckRound {
	if st.ActivityChecks == nil {
		return nil
	}
	return &st.ActivityChecks.CheckRound
}

// like tells whether a fence goes on like any other from here, whose walk is
// begun elsewhere: its checks are over, or a person took their place.
func (s *State) like(l *look) bool {
	return s.checked() && (s.sh.served || s.st.Phase == api.Releasing || l.confirm)
}

// checked: checks come before this fence.
func (s *State) checked() bool {
	return s.spec.Decision.Settings.ActivityChecks != nil || s.spec.Decision.Settings.StorageCheck != nil
}

// checkedLooks are all that the checks of the round under way can say next.
func checkedLooks(s *State, with func(func(*observed.Look))) {
	if s.checked() {
		with(func(y *observed.Look) { y.MayCheck = false })
		with(func(y *observed.Look) {
			y.MayCheck, y.Verdict = false, &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10", Again: time.Second}
		})
	}
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
		c := &observed.Checked{Storage: storage, Round: r.Number}
		for i, a := range answers {
			c.Results = append(c.Results, api.CheckResult{Check: fmt.Sprint(i + 1), Answer: a})
		}
		with(func(y *observed.Look) { y.Checked = c })
	}
	with(func(y *observed.Look) {
		y.Checked = &observed.Checked{Storage: storage, Round: r.Number - 1, Results: []api.CheckResult{{Check: "1", Answer: api.AnswerNone}}}
	})
	with(func(y *observed.Look) {
		y.Checked, y.Lease.Exists = &observed.Checked{Storage: storage, Round: r.Number, Results: []api.CheckResult{{Check: "1", Answer: api.AnswerNone}}}, false
	})
}

// checkedAll: every check of the round under way answers the same.
func checkedAll(st api.NodeFenceStatus, a api.Answer) *observed.Checked {
	if r := st.StorageCheck; r != nil && r.StartedAt != nil {
		return &observed.Checked{Storage: true, Round: r.Number, Results: []api.CheckResult{{Check: "tcp", Answer: api.AnswerActivity}}}
	}
	return &observed.Checked{Round: st.ActivityChecks.Number, Results: []api.CheckResult{{Check: "1 kubelet", Answer: a}}}
}

// activityKey is what tells states with activity checks apart, until power is cut:
// from there it is not read any more, and a restart has forgotten it.
func activityKey(s *State, age func(*api.Time, ...time.Duration) string) string {
	x := s.sh.witnesses
	if p := s.spec.Decision.Settings.StorageCheck; p != nil {
		if s.st.Phase != api.Pending || s.st.StorageCheck == nil {
			return "storage"
		}
		r := s.st.StorageCheck
		return fmt.Sprint("storage", r.StartedAt != nil, age(r.StartedAt, p.Timeout.Duration+promisedGrace), age(r.EndedAt, p.ValidDuration.Duration), answers(r), x.down)
	}
	p, a := s.spec.Decision.Settings.ActivityChecks, s.st.ActivityChecks
	if p == nil {
		return ""
	}
	failedAt, alive := observed.StampOf(x.failedAt), observed.StampOf(x.alive)
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
	return k + age(a.StartedAt, p.CheckTimeout.Duration+promisedGrace) + answers(&a.CheckRound) + s.witnessKey()
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

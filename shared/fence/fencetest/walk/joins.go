package walk

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence that requests come to join, at any time, of the Node that it is
// about or of another one of that name. Its policy's condition has to hold for a while,
// so that a request has it go on sooner.

func (s *State) isJoined() bool { return s.spec.Decision.Policy.Name == specs.JoinedName }

// Gate is what the gate asks of package fence when a request comes: whether the fence ends,
// and so can't be joined; to join it; to open the next one. What is nil is the fence's own.
type Gate struct {
	Ends func(*api.NodeFence, types.UID) string
	Join func(*api.NodeFence, api.AskedBy) string
	Open func(*api.NodeFence, api.Decision, time.Time) api.NodeFenceStatus
}

// joins are the requests that have joined.
type joins struct {
	requests []api.AskedBy
	// worked: power was cut, or work released.
	worked bool
	// afterCut: power was cut or work released before the first of them came.
	afterCut bool
}

// fresh: a request that joined is young enough to be carried out, and nothing was yet.
func (sh *shadow) freshJoin(now time.Time) bool {
	return !sh.worked && slices.ContainsFunc(sh.requests, func(r api.AskedBy) bool { return now.Sub(r.JoinedAt.Time) <= promisedRequest })
}

// requestsCome lets a request come for each Node that may have the name by now.
func (w *walker) requestsCome(s *State) {
	most := 2
	if s.sh.worked {
		most = 1
	}
	if !s.isJoined() || len(s.sh.requests) >= most {
		return
	}
	for _, node := range []types.UID{"uid-1", "uid-2"} {
		f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "fence-1"}, Spec: s.spec.AsSpec(), Status: *(&api.NodeFence{Status: s.spec.In(s.st)}).Status.DeepCopy()}
		if w.gate.Ends(f, node) != "" {
			continue
		}
		r := api.AskedBy{ID: fmt.Sprint(len(s.sh.requests) + 1), Source: "/me", Type: "t", JoinedAt: observed.StampOf(s.now)}
		w.gate.Join(f, r)
		w.checkJoin(s, f, r, node)
		next := *s
		next.spec = fencetest.GivenBy(f)
		if len(s.sh.requests) == 0 {
			next.sh.afterCut = s.sh.worked
		}
		next.sh.requests = append(slices.Clip(s.sh.requests), r)
		w.push(&next)
	}
}

// checkJoin: what a request may change of a record when it joins.
func (w *walker) checkJoin(s *State, f *api.NodeFence, r api.AskedBy, node types.UID) {
	say := func(ok bool, promise string) {
		if !ok && w.broken[promise] == "" {
			w.broken[promise] = fmt.Sprintf("from %s (%s), a request about Node %s", s.st.Phase, key(s), node)
		}
	}
	say(node == s.spec.Decision.NodeUID, "S6: a request never joins the fence of another Node object")
	plain, st := fencetest.GivenBy(f), s.spec.In(s.st)
	say(tells(&f.Status) == tells(&st)+1, "S28: the history tells once of a request that joins")
	st.Decision, st.History = f.Status.Decision, f.Status.History
	plain.Decision.AskedBy = s.spec.Decision.AskedBy
	say(reflect.DeepEqual(plain, s.spec) && reflect.DeepEqual(f.Status, st), "S7: a request that joins changes nothing but who asked")
	say(f.Served(&r), "S7: a request that joined is used up")
}

func (s *State) joinedKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isJoined() {
		return nil
	}
	k := []any{specs.JoinedName, len(s.spec.Decision.Isolation()), s.sh.afterCut, len(s.sh.requests), s.sh.worked, s.st.CutOrReleased}
	if s.sh.worked && s.st.CutOrReleased {
		return k
	}
	k = append(k, s.sh.sickDue(s.now))
	for i := range s.sh.requests {
		k = append(k, age(&s.sh.requests[i].JoinedAt, promisedRequest))
	}
	return k
}

// joinedLooks are what holds such a fence, or ends it, and else what a small world shows.
func joinedLooks(s *State) []look {
	all := countedLooks(s)
	if s.st.Claim != nil {
		return all
	}
	for _, dt := range []time.Duration{countedWaits(s)[0], specs.EarlyFor + time.Second} {
		at := s.now.Add(dt)
		with := func(change func(*observed.Look)) {
			x := usual(s, at, "Unknown", false, "a")
			change(&x)
			all = append(all, look{dt: dt, seen: x})
		}
		with(func(*observed.Look) {})
		with(func(x *observed.Look) {
			x.Brakes = observed.Brakes{Looked: true, Counted: true, Stricter: true, Unmark: true, Why: api.Excluded, Message: "it is excluded"}
		})
		with(func(x *observed.Look) { x.Node.UID = "uid-2" })
		with(func(x *observed.Look) { x.Node.Taint, x.Node.Cordoned = false, false })
		with(func(x *observed.Look) {
			x.Node.Taint, x.Node.Cordoned, x.Finalizer, x.Report = false, false, false, s.writtenReport()
		})
	}
	return append(all, look{dt: 0, seen: usual(s, s.now, "Unknown", false, "a"), abort: true})
}

// tells is how often a history tells of a request that joined.
func tells(st *api.NodeFenceStatus) (n int) {
	for _, h := range st.History {
		if h.Reason == api.RequestMerged {
			n++
		}
	}
	return n
}

// works: power was cut, or work released, by what was decided now.
func (sh *shadow) works(s *State, a *api.NodeFenceStatus, act fence.Action) {
	if !s.isJoined() {
		return
	}
	if s.st.Phase == api.Releasing && (a.Phase == api.PoweringOn || a.Phase == api.Fenced) {
		sh.worked = true // also where nothing was left to be released
	}
	access := fencetest.CutsOff(a)
	sh.worked = sh.worked || act == fence.Release || act == fence.Off && !access
}

func (w *walker) checkJoined(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isJoined() {
		return
	}
	b := &s.st
	aborted := f.Spec.Requests.Abort != nil || b.Outcome == api.Aborted
	if why := w.gate.Ends(f, f.Status.Decision.NodeUID); why != "" && !aborted && a.Reason != api.BootTimedOut && a.Reason != api.FlowRestarted {
		ends := a.Phase == api.Recovering || a.Phase == api.Restoring || a.Phase == api.Finished
		say(ends, "S18: a fence of which a request was told that it ends does end")
	}
	say(tells(a) == tells(b), "S28: the history tells once of a request that joins")
	if len(sh.requests) == 0 {
		return
	}
	if act == fence.Off && !sh.cut {
		say(sh.sickDue(now) || sh.freshJoin(now), "S17: a request is carried out within a quarter of an hour or never")
	}
	if ended := a.Phase == api.Recovering || a.Phase == api.Restoring || a.Phase == api.Finished; ended && a.Phase != b.Phase && sh.freshJoin(now) {
		say(a.Outcome != api.HealedBeforeFence && a.Outcome != api.RequestExpired, "S7: a request that joined is not lost while it counts")
	}
	say(a.Outcome != api.RequestExpired || b.Outcome == api.RequestExpired || !sh.worked, "S28: of what was carried out nobody says that it was not begun")
	w.checkAlike(s, sh, f, seen, a, act, now, say)
	if a.Phase == api.Finished && b.Phase != api.Finished {
		w.checkUsedUp(sh, f, a, now, say)
	}
}

// checkAlike compares with the same fence to which nobody's request came.
func (w *walker) checkAlike(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	g := *f
	g.Status.Decision.AskedBy = nil
	alone, same := w.decide(&g, *seen, now)
	if sh.afterCut {
		say(act == same && a.Phase == alone.Phase && a.Reason == alone.Reason && a.Outcome == alone.Outcome && a.NextLook.Equal(alone.NextLook),
			"S25: a request that comes once power was cut changes nothing of the fence")
	}
	ends := func(st *api.NodeFenceStatus) bool {
		return st.Phase != s.st.Phase && (st.Phase == api.Recovering || st.Phase == api.Restoring || st.Phase == api.Finished)
	}
	say(!ends(a) || ends(&alone), "S18: a request ends no fence")
}

// checkUsedUp: the next fence of this node remembers what has joined this one.
func (w *walker) checkUsedUp(sh *shadow, f *api.NodeFence, a *api.NodeFenceStatus, now time.Time, say func(bool, string)) {
	g := *f
	g.Status = *a
	g.Status = w.gate.Open(&g, fencetest.Spec().Decision, now)
	for i := range sh.requests {
		say(g.Served(&sh.requests[i]), "S7: a request that joined is used up, also when the next fence opens")
	}
}

// mayBeTooLate: power was cut for a request, which may be withdrawn only now.
func (s *State) mayBeTooLate() bool {
	return s.spec.Decision.Asker() != nil && !s.drains() && s.sh.cut && s.st.Phase == api.Fencing
}

// unasked: nobody asks for the fence, or who did has withdrawn that.
func (s *State) unasked(sh *shadow) bool {
	return s.spec.Decision.Asker() == nil || sh.withdrawn && len(s.spec.Decision.AskedBy) == 1
}

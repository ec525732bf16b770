package walk

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// What a walk adds for pause windows, and for an API server whose state went
// back in time: a fence that is held for either begins nothing (S16, S25), what was
// begun before runs to its end, a healed node returns meanwhile, and whoever waits
// comes to an end once the window ends or a person confirms (S27). From where the
// machine is on its way back a fence is like any other: it is left there.

// restoredName marks a fence whose record was taken back by a restore.
const restoredName = "restored"

func (s *State) isHeld() bool { return s.spec.Decision.Policy.Name == "held" || s.isRestored() }

func (s *State) isRestored() bool { return s.spec.Decision.Policy.Name == restoredName }

// pastHold: from here it goes on like any other fence, whose walk is begun elsewhere:
// no brake is looked at, or it is the same over again, or nothing that is believed is
// of before the restore.
func (s *State) pastHold() bool {
	if !s.isHeld() {
		return false
	}
	switch s.st.Phase {
	case api.PoweringOn, api.Recovering, api.Fenced, api.Failed:
		return true
	}
	return s.st.Restarts > 0 || s.isRestored() && !s.remembers()
}

// remembers: something of before the restore may still be believed.
func (s *State) remembers() bool {
	before := func(t *api.Time) bool { return t != nil && t.Time.Before(s.sh.restored) }
	st, p := s.st, s.st.Power
	return st.Proof != nil && before(&st.Proof.At) || p.FirstOff != nil && before(&p.FirstOff.At) || p.LastRead != nil && before(&p.LastRead.At) ||
		st.Claim != nil || before(st.DecidedAt)
}

// holdLooks are what holds, and what looks like it and does not.
func holdLooks(s *State, now time.Time, with func(func(*observed.Look))) {
	if !s.isHeld() {
		return
	}
	brakes := func(b observed.Brakes) {
		with(func(y *observed.Look) { y.Brakes = b })
		if s.st.Phase == api.Releasing {
			with(func(y *observed.Look) {
				y.Brakes, y.Left = b, &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1}
			})
		}
	}
	brakes(wentBack())
	if s.isRestored() {
		return // the rest is as in any other
	}
	shut, open, ends, unread := WindowsAt(now)
	for _, all := range [][]policy.Windows{{shut}, {shut, open}, {ends}, {unread}} {
		brakes(observed.Brakes{Looked: true, Counted: true, Windows: all})
	}
}

// checkHeld holds what is promised of such a fence.
func (w *walker) checkHeld(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if c := s.st.Claim; !s.isHeld() || c != nil && c.Holder != seen.Me && reflect.DeepEqual(a, &s.st) {
		return // S7
	}
	b := seen.Brakes
	cut := sh.cut && !s.isRestored() || s.st.Power.SwitchedByUs // what was begun after the backup nobody knows of
	if cut || s.st.Release.StartedAt != nil {
		w.checkBegun(s, sh, f, seen, a, act, now, say)
		return
	}
	if !Holding(b) {
		if len(b.Windows) > 0 {
			st, same := w.without(f, seen, now)
			say(same == act && reflect.DeepEqual(&st, a), "a window that is not open changes nothing")
		}
		return
	}
	word := f.Spec.Requests.ConfirmOff != nil // by which a look at the machine is spared, and nothing done
	back := a.Phase == s.st.Phase || a.Phase == api.Pending || a.Phase == api.Recovering || a.Phase == api.Finished || a.Phase == api.Failed
	say(back || word, "S16, S25: a fence that is held does not go on")
	say(act != fence.Reserve && act != fence.Isolate && act != fence.MarkNotReady && act != fence.Release && !act.Device(), "S16, S25: a fence that is held begins nothing")
	waits := a.Phase == api.Pending && (s.st.Phase == "" || s.st.Phase == api.Pending || s.st.Phase == api.Isolating || s.atDevice())
	if !waits || !b.Looked {
		return
	}
	say((a.Message != "" || b.Message == "" && len(b.Windows) == 0) && a.Reason == whyHeld(b), "S28: a fence that is held says why")
	until := now.Add(facts.Resync)
	if len(b.Windows) > 0 && b.Windows[0].Policy == endsPolicy && !b.Stopped && !b.Paused {
		until = now.Add(endsSoon)
	}
	say(a.NextLook != nil && !a.NextLook.After(until.Add(time.Microsecond)), "S27: whoever waits for a window is decided anew when it ends")
}

// checkBegun: of what was begun a window changes nothing, and a brake nothing but the
// Offs. But a person's word from before a restore is a word about another time.
func (w *walker) checkBegun(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	b := seen.Brakes
	if act == fence.Release && s.isRestored() && b.Why == api.StateWentBack {
		say(a.Proof.At.After(sh.restored), "S16: as long as nobody confirms a restore, nothing is released on a proof from before it")
	}
	if b.Looked && !b.Stopped && !b.Paused && !b.Storm && len(b.Windows) == 0 {
		return
	}
	st, same := w.without(f, seen, now)
	if onlyWindows := b.Looked && !b.Stopped && !b.Paused && !b.Storm; !onlyWindows {
		if p := s.st.Proof; same == fence.Off || s.st.Phase == api.Releasing && p != nil && p.Type == api.ProofConfirmed {
			return
		}
	}
	say(same == act && reflect.DeepEqual(&st, a), "S25: what was begun runs to its end, whatever holds what is new")
}

// without is what is decided where nothing holds.
func (w *walker) without(f *api.NodeFence, seen *observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
	free := *seen
	free.Brakes = observed.Brakes{Looked: true, Counted: true}
	return w.decide(f, free, now)
}

// olderThan: a backup is older than whatever is still believed of what was read or
// decided when it was made.
const olderThan = facts.DecisionValidity + time.Second

// goBack lets the API server be restored from a backup of each stage that this fence
// has come through: the record is what it was then, and the world is what it is. Of
// each kind of record, in each kind of world, the first stands for all.
func (w *walker) goBack(before, next *State, act fence.Action) {
	if !next.isHeld() || next.isRestored() {
		return
	}
	next.was = before.was
	half := next.st.Power.FirstOff != nil && before.st.Power.FirstOff == nil
	if act != fence.Off && act != fence.On && act != fence.Release && !half && before.st.Phase == next.st.Phase {
		return
	}
	for _, old := range next.was {
		r := *next
		r.st, r.now, r.was = old, next.now.Add(olderThan), nil
		r.spec.Decision.Policy.Name = restoredName
		r.sh.restored = r.now
		r.sh.cut = r.sh.cut || old.Power.SwitchedByUs // nobody remembers that it was switched on again since
		if k := kindOf(old) + " in " + kindOf(next.st) + lastRead(next.sh); !w.seen[k] {
			w.seen[k] = true
			w.push(&r)
		}
	}
	next.was = append(slices.Clip(next.was), next.st)
}

func kindOf(st api.NodeFenceStatus) string {
	proof := api.ProofKind("")
	if st.Proof != nil {
		proof = st.Proof.Type
	}
	p := st.Power
	return fmt.Sprint(st.Phase, proof, st.Release.StartedAt != nil, p.SwitchedByUs, p.OffAt != nil, p.FirstOff != nil, p.OnAt != nil)
}

func lastRead(sh shadow) string {
	if n := len(sh.reads); n > 0 {
		return string(sh.reads[n-1].State)
	}
	return "never"
}

// holdKey is what tells apart two restored records of which one knows less.
func (s *State) holdKey() []any {
	if !s.isHeld() {
		return nil
	}
	k := []any{s.spec.Decision.Policy.Name}
	if !s.isRestored() {
		return k
	}
	before := func(t *api.Time) bool { return t != nil && t.Time.Before(s.sh.restored) }
	p := s.st.Power
	if r := p.FirstOff; r != nil {
		k = append(k, before(&r.At), len(s.sh.reads) > 0 && r.At.Time.Before(s.sh.reads[0].At.Time))
	}
	if r := s.st.Proof; r != nil {
		k = append(k, before(&r.At))
	}
	if n := len(s.sh.reads); n > 0 {
		k = append(k, s.sh.reads[n-1].State)
	}
	return k
}

// liveHeld follows a fence into worlds in which everything works but for what holds
// it: until a window ends, or a person confirms; and for ever, while its node heals.
func (w *walker) liveHeld(s *State) {
	shut, _, _, unread := WindowsAt(s.now)
	lasting := windowOf(openPolicy, s.now, s.now.Add(20*time.Minute))
	for name, hold := range map[string]func(look int, seen *observed.Look){
		"a window has ended":              func(_ int, seen *observed.Look) { seen.Brakes.Windows = []policy.Windows{shut, lasting} },
		"a window was corrected":          until(30, observed.Brakes{Looked: true, Counted: true, Windows: []policy.Windows{unread}}),
		"a person has confirmed restore":  until(30, wentBack()),
		"nobody pauses it any more":       until(30, observed.Brakes{Looked: true, Paused: true}),
		"somebody has looked at a brakes": until(30, observed.Brakes{}),
	} {
		w.mustEnd(s, "S27: it ends once "+name, hold, api.Finished, api.Fenced, api.Failed)
	}
	if s.sh.cut || s.st.Power.SwitchedByUs || s.st.Release.StartedAt != nil {
		return
	}
	for name, b := range map[string]observed.Brakes{"a window": {Looked: true, Windows: []policy.Windows{unread}}, "a restore": wentBack()} {
		w.mustEnd(s, "S27: a healed node returns, though "+name+" holds", func(look int, seen *observed.Look) {
			seen.Brakes = b
			seen.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "True", Since: fencetest.Start}}
			seen.Lease.Renewed = fmt.Sprint("h", look)
		}, api.Finished)
	}
}

// until is a brake that is on for so many looks.
func until(looks int, b observed.Brakes) func(int, *observed.Look) {
	return func(look int, seen *observed.Look) {
		if look < looks {
			seen.Brakes = b
		}
	}
}

func (w *walker) mustEnd(s *State, promise string, hold func(int, *observed.Look), ends ...api.Phase) {
	if p := w.follow(s, false, hold); !slices.Contains(ends, p) && w.broken[promise] == "" {
		w.broken[promise] = fmt.Sprintf("from %s (%s) it came to %s", s.st.Phase, key(s), p)
	}
}

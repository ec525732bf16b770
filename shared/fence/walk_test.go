package fence_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// The walk visits every state that Decide can reach under every look that the
// world can give it, hostile ones included, and checks the promises on each
// step. Times are kept as they are in one representative of each state; two
// states are the same if all their times stand on the same side of every limit
// that they are compared with.

type decider func(*api.NodeFence, fence.Seen, time.Time) (api.NodeFenceStatus, fence.Action)

// shadow is what really happened, kept beside the record, so that a broken
// Decide can't hide its fault by what it writes down.
type shadow struct {
	// reads are the first and the last of the device's latest row of equal answers.
	reads []api.Read
	wrong bool
	// cut: our own Off was asked for after a read of on, and not undone since.
	cut bool
	// moved is when the Lease was last seen to move, renewed its mark.
	moved   time.Time
	renewed string
	// effect is until when a call of ours may take effect, by level.
	effect [2]time.Time
	// on: our On was the last word; late: a machine that is found off in recovery may
	// be so by us. sent is when our last Off was, until when our last word may take effect.
	on, late    bool
	sent, until time.Time
	// decided is when the gate really said yes.
	decided *api.Time
	// fresh: the Lease still moved when our Off was sent.
	fresh bool
	// off are the levels that were told to cut the power and did not read on since.
	off [2]bool
	// served: power was cut or work released, so that a request is used up.
	served bool
	// kept: a healthy node was held for a person with our cordon on it, and has been healthy since.
	kept bool
	// sick is since when the policy's condition has held; zero if it does not.
	sick time.Time
	// deleted is when pods were last asked to go, where that is counted.
	deleted time.Time
	witnesses
	counted
	joins
	// dumpSince is when a dump of this node was first heard of, dumpLast when its
	// last message came.
	dumpSince, dumpLast time.Time
	// dumpBoot is the boot that the first of them was of.
	dumpBoot string
	// machine: its Machine was to be remediated when somebody last looked.
	machine bool
	// asked is how often the deletion of a Machine was asked for.
	asked int32
	// freed is what the last release rested on, boot the boot that it was about.
	freed api.ProofKind
	boot  string
	// restored is when the record was last taken back to what it once was.
	restored time.Time
}

type state struct {
	st   api.NodeFenceStatus
	now  time.Time
	spec fencetest.Given
	sh   shadow
	// was are the records of the stages that it came through, where they matter.
	was []api.NodeFenceStatus
}

// look is one combination of everything that is outside the record.
type look struct {
	dt                    time.Duration
	seen                  fence.Seen
	abort, retry, confirm bool
	uncordon              bool
}

// requestSpec is of a fence that an event asked for, whatever the node's health.
func requestSpec() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger, s.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: fence.StampOf(fencetest.Start)}}
	return s
}

// isolateSpec is of a node of which no device is touched.
func isolateSpec() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.Action = api.ActionIsolate
	return s
}

// levelsSpec is of a node that can be switched in two ways.
func levelsSpec() fencetest.Given {
	s := fencetest.Spec()
	fencetest.Powered(&s.Decision, *s.Decision.Power(0), api.Binding{Driver: "mem", Address: "m", EffectDelay: metav1.Duration{Duration: time.Second}, Lead: &metav1.Duration{Duration: fencetest.Lead}})
	return s
}

// walker visits states and collects what is wrong.
type walker struct {
	decide            decider
	seen              map[string]bool
	queue             []*state
	decisions, visits int
	edges             map[string]bool
	broken            map[string]string // promise → where
	// wants is the promise whose breaking ends the walk.
	wants string
	// hunts: it takes one look in so many, and every other time goes on from where it
	// came last, so that it is soon deep in a fence; 0: the walk itself.
	hunts int
	live  bool
	// most states that are visited; 0: all.
	most int
	// levels: nodes of two levels are visited too.
	levels bool
	// gate says which requests may join.
	gate joiner
	// record and next are of the step that is being taken.
	record api.NodeFence
	next   state
}

func newWalker(d decider) *walker {
	return &walker{decide: d, seen: map[string]bool{}, edges: map[string]bool{}, broken: map[string]string{}, live: true, levels: true, gate: joiner{fence.Ends, fence.Join, fence.Opening}}
}

// origins are the states in which the walk of a fence begins.
func origins(spec fencetest.Given) []state {
	s := state{now: fencetest.Start, spec: spec, sh: shadow{moved: fencetest.Start, renewed: "r0"}}
	switch {
	case s.goes():
		return []state{releasedBy(s, api.ProofSeenOff), releasedBy(s, api.ProofConfirmed)}
	case s.ofMachine():
		return []state{s, servedMachine(s)}
	case s.isBare():
		return []state{bareFound(s)}
	case s.isCounted():
		return countedOrigins(s.spec)
	case s.isManual():
		return onItsWayBack(s)
	}
	return []state{s}
}

// starts are where the walk begins. Once a fence was served its states are those
// of any other, and whoever comes there first stands for all.
func starts() []fencetest.Given {
	return []fencetest.Given{requestSpec(), fencetest.Spec(), isolateSpec(), earlySpec(), activitySpec(), storageSpec()}
}

func (w *walker) run(from ...fencetest.Given) {
	w.begin(beginnings(from...)...)
	w.walk()
}

// beginnings are where the walk of such fences begins.
func beginnings(specs ...fencetest.Given) (all []state) {
	for _, spec := range specs {
		all = append(all, origins(spec)...)
	}
	return append(all, restoringAfter(specs)...)
}

func (w *walker) begin(from ...state) {
	for _, s := range from {
		w.push(&s)
	}
}

func (w *walker) walk() {
	levels := levelsSpec()
	for len(w.queue) > 0 && !w.found() && (w.most == 0 || w.visits < w.most) {
		s := w.take()
		if mayBeGentle(s) {
			two := *s
			two.spec = gentle(s.spec)
			w.push(&two)
		}
		var two *state
		if w.levels && s.spec.Decision.Power(0) != nil && !s.checked() && !climbed(s) && s.st.Restarts == 0 && s.spec.Decision.Asker() == nil && !s.isEarly() && s.spec.Decision.Settings.Action.Device() && s.st.Phase == api.Fencing {
			levelled := *s
			fencetest.Powered(&levelled.spec.Decision, *s.spec.Decision.Power(0), levels.Decision.PowerLevels()[1])
			two = &levelled
		}
		all := looks(s)
		for i := range all {
			if w.hunts > 0 && (i+w.visits)%w.hunts != 0 {
				continue
			}
			w.step(s, &all[i])
			if two != nil {
				w.step(two, &all[i])
			}
		}
		w.requestsCome(s)
		if w.live && w.visits%16 == 0 {
			w.liveness(s)
		}
		if w.live && s.sh.cut {
			w.answersAgain(s)
		}
		w.visits++
	}
}

// found: what is looked for is broken.
func (w *walker) found() bool { return w.wants != "" && w.broken[w.wants] != "" }

// take is the state to be visited next: the one that was found first, or last.
func (w *walker) take() *state {
	n := len(w.queue) - 1
	s := w.queue[n]
	if w.hunts > 0 && w.visits%2 == 0 {
		w.queue = w.queue[:n]
		return s
	}
	s = w.queue[0]
	w.queue[0], w.queue = nil, w.queue[1:]
	return s
}

func (w *walker) push(s *state) {
	k := key(s)
	if !w.seen[k] {
		w.seen[k] = true
		stays := *s
		w.queue = append(w.queue, &stays)
	}
}

// step takes one look, decides, and goes to every end that the action can have.
func (w *walker) step(s *state, l *look) {
	now := s.now.Add(l.dt)
	s.st = s.spec.In(s.st)
	f := &w.record // made anew for each of millions of steps it would cost more than what it is made for
	f.ObjectMeta, f.Spec, f.Status = metav1.ObjectMeta{Name: "n", UID: "fence-1"}, s.spec.AsSpec(), s.st
	at := metav1.NewTime(fencetest.Start)
	if l.abort {
		f.Spec.Requests.Abort = &api.AbortRequest{By: "me", At: at}
	}
	if l.retry {
		f.Spec.Requests.Retry = &api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}
	}
	if l.uncordon {
		f.Spec.Requests.Uncordon = &api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}
	}
	if l.confirm {
		f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: s.st.FenceNumber, By: "me", At: at}}
	}
	after, act := w.decide(f, l.seen, now)
	w.decisions++
	sh := s.sh.saw(s.spec, l.seen, s.st, now)
	sh.witnesses = sh.heard(s, l.seen, sh, now)
	sh.heardDump(s, l.seen, now)
	w.check(s, &sh, f, &l.seen, &after, act, now)
	if s.st.Phase != after.Phase {
		w.edges[string(s.st.Phase)+" --> "+string(after.Phase)+": "+string(after.Reason)] = true
	}
	if act == fence.Off && s.readOn() {
		sh.cut = true
	}
	if after.Phase == api.Recovering || after.Phase == api.Fenced || sh.readsOn(s, &after) {
		sh.cut = sh.cut && after.Power.SwitchedByUs
	}
	if act == fence.Off || act == fence.On {
		sh.on = act == fence.On
	}
	if act == fence.Off {
		sh.sent = now
	}
	if back := after.Phase == api.Recovering || after.Phase == api.Restoring; back && s.st.Phase != api.Restoring && s.st.Phase != after.Phase {
		sh.late = sh.on || now.Before(sh.until) || s.isRestored()
	}
	sh.awaits(s, &after)
	sh.keeps(&after, &l.seen)
	sh.freedBy(s, &after, act)
	sh.counts(s, l, &after, act, now)
	sh.works(s, &after, act)
	if act == fence.DeleteMachine {
		sh.asked++
	}
	if after.Phase == api.Isolating && s.st.Phase != api.Isolating && l.seen.Reserved != nil {
		at := fence.StampOf(*l.seen.Reserved)
		sh.decided = &at
	}
	if s.st.Phase == api.Recovering && after.ReadySince != nil && !now.Before(sh.until) {
		sh.late = s.isRestored()
	}
	if s.st.Phase == api.Recovering && after.Phase == api.PoweringOn {
		sh.cut = sh.late // found off in recovery: a late Off of ours (S8)
	}
	if act == fence.Off {
		still := after.Lease.StillSince
		sh.fresh = l.seen.Lease.Exists && still != nil && now.Sub(still.Time) < 2*fencetest.Renewal
	}
	sh.level(&s.st, &after, &l.seen, act)
	sh.served = sh.served || act == fence.Off || act == fence.Release
	sh.deletedBy(&after, act, now)
	if act == fence.Off || act == fence.On {
		sh.effect[after.Power.Level] = now.Add(s.spec.Decision.DeviceCallTimeout.Duration + delayAt(&s.spec, after.Power.Level))
		sh.until = now.Add(s.spec.Decision.DeviceCallTimeout.Duration + longest(&s.spec))
	}
	next := &w.next
	*next = state{st: after, now: now, spec: s.spec, sh: sh}
	next.strip()
	settled(next)
	w.goBack(s, next, act)
	w.opensAgain(next)
	if after.Phase == api.Finished || next.like(l) || next.pastDump(l) || next.pastCut() || next.pastGone() || next.pastMachine() || next.pastHold() || next.pastManual() {
		return
	}
	if climbed(next) && after.Restarts > 0 {
		return
	}
	if next.pastAwaited() {
		if w.live && next.sh.cut {
			w.answersAgain(next)
		}
		return
	}
	w.push(next)
}

func init() { debug.SetGCPercent(800) } // a walk makes much garbage, and keeps little

// climbed: a second level is or was in use. A second pass over both is not walked,
// nor one that an event asked for: they are the first one over again. Before that a node of one level and
// one of two are in the same states, and both ways to go on are taken.
func climbed(s *state) bool {
	return s.st.Power.Level > 0 || s.sh.off[1] || slices.Contains(s.st.Power.Cut, 1)
}

// saw updates the shadow by what the look really showed.
func (sh shadow) saw(spec fencetest.Given, seen fence.Seen, st api.NodeFenceStatus, now time.Time) shadow {
	if !fence.CoreOf(&spec.Decision, st, seen, now).Elsewhere() {
		sh.sick = sh.sickSince(seen, now)
		sh.machine = seen.Machine != nil || sh.machine && !seen.MachineLooked
	}
	if seen.Lease.Exists && seen.Lease.Renewed != sh.renewed {
		sh.renewed, sh.moved = seen.Lease.Renewed, now
	}
	c := seen.Call
	if c == nil || st.Claim == nil || st.Claim.Holder != seen.Me {
		return sh
	}
	if c.Call == api.CallRead {
		r := api.Read{State: api.StateOf(c.Power), MissingSupply: c.MissingSupply, At: metav1.NewMicroTime(c.At)}
		if n := len(sh.reads); n > 0 && sh.reads[n-1].State == api.StateOf(c.Power) {
			sh.reads = []api.Read{sh.reads[0], r} // the first and the last of a row of the same
		} else {
			sh.reads = []api.Read{r}
		}
		sh.wrong = c.Wrong
	} else {
		sh.effect[st.Power.Level] = now.Add(delayAt(&spec, st.Power.Level))
		sh.until = now.Add(longest(&spec))
	}
	return sh
}

// longest is until when a call to any of the devices takes effect.
func longest(spec *fencetest.Given) time.Duration { return max(delayAt(spec, 0), delayAt(spec, 1)) }

// level: reads are of one device each (S3), and each that was told to cut the
// power owes a power-on (S25).
func (sh *shadow) level(before, after *api.NodeFenceStatus, seen *fence.Seen, act fence.Action) {
	l := before.Power.Level
	if c := seen.Call; c != nil && before.Claim != nil && before.Claim.Holder == seen.Me && c.Call == api.CallRead && c.Power == "On" {
		sh.off[l] = false
	}
	if act == fence.Off {
		sh.off[after.Power.Level] = true
	}
	if after.Power.Level != l {
		sh.reads = nil
	}
}

// strip drops what no decision reads.
func strip(st *api.NodeFenceStatus) {
	st.History, st.Past, st.Conditions, st.Message, st.Transitions = nil, nil, nil, "", 0
	st.Release.NotAfter, st.Release.Batches, st.Release.Batch, st.Release.Pods, st.Release.PodsLeft, st.Release.AttachmentsLeft = nil, 0, 0, 0, 0, 0
	st.Power.LastError, st.Power.OffError = "", ""
	if st.ActivityChecks != nil {
		st.ActivityChecks = st.ActivityChecks.DeepCopy()
		st.ActivityChecks.Saw, st.ActivityChecks.Errored = "", 0
	}
	st.Retries = min(st.Retries, 1)
	st.Isolation = slices.Clone(st.Isolation)
	for i := range st.Isolation {
		st.Isolation[i].Tries, st.Isolation[i].LastError = min(st.Isolation[i].Tries, 1), ""
	}
	st.Power.OffCalls, st.Power.OnCalls = min(st.Power.OffCalls, 1), min(st.Power.OnCalls, 1)
}

// key is the abstract state.
func key(s *state) string {
	age := func(t *api.Time, limits ...time.Duration) string {
		if t == nil {
			return "-"
		}
		d, n := s.now.Sub(t.Time), 0
		for _, l := range limits {
			if d > l {
				n++
			}
		}
		return strconv.Itoa(n)
	}
	st, p, pol := &s.st, &s.st.Power, &s.spec.Decision.ResolvedPolicy
	read := func(r *api.Read, limits ...time.Duration) string {
		if r == nil {
			return "-"
		}
		return string(r.State) + r.MissingSupply + age(&r.At, limits...)
	}
	claim, proof, lease := "-", "-", "-"
	if c := st.Claim; c != nil {
		claim = string(c.Call) + c.Holder + age(&c.NotAfter, 0, 3*time.Second)
	}
	if st.Proof != nil {
		proof = string(st.Proof.Type) + st.Proof.BootIDBefore + age(&st.Proof.At, fence.ProofValidity)
	}
	if l := st.Lease.StillSince; l != nil {
		lease = age(l, 2*fencetest.Renewal) + spell([]any{st.PhaseSince != nil && l.After(st.PhaseSince.Time),
			p.FirstOff != nil && l.After(p.FirstOff.At.Time), st.Proof != nil && l.After(st.Proof.At.Time)})
	}
	if !pol.Settings.Action.Device() {
		claim += string(pol.Settings.Action)
	}
	if climbed(s) {
		claim += fmt.Sprint("level", p.Level, p.Cut, s.sh.off, s.now.Before(s.sh.effect[0]))
	}
	outcome := st.Outcome
	if st.Phase == api.Restoring && outcome != "" {
		outcome = "ended"
	}
	// A phase is told apart by what it, or a later one, still reads.
	k := append(make([]any, 0, 64), st.Phase, outcome, st.Restarts, st.Placed.OutOfService, p.SwitchedByUs, s.sh.cut, claim, st.Release.StartedAt != nil)
	if s.spec.Decision.Asker() != nil && !(st.CutOrReleased && s.sh.served) {
		k = append(k, "asked", st.CutOrReleased, s.sh.served, age(&s.spec.Decision.AskedBy[0].JoinedAt, api.RequestValidity), s.now.Sub(fencetest.Start) > api.RequestValidity+time.Second)
	}
	if s.isEarly() && st.Phase != api.Recovering && st.Phase != api.Fenced && st.Phase != api.Failed {
		k = append(k, s.earlyKey(age, read)...)
	}
	k = append(k, s.readKey(age)...)
	k = append(k, s.goneKey(age)...)
	k = append(k, s.machineKey()...)
	k = append(k, s.bareKey(age)...)
	k = append(k, s.holdKey()...)
	k = append(k, s.manualKey()...)
	k = append(k, s.wentKey(age)...)
	k = append(k, s.awaitedKey()...)
	k = append(k, s.countedKey()...)
	k = append(k, s.joinedKey(age)...)
	if s.isGentle() {
		k = append(k, gentleKey(s, age)...)
	}
	if e := activityKey(s, age) + s.kdumpKey(age) + s.cutKey(age); e != "" {
		k = append(k, e)
	}
	if r := p.LastRead; s.sh.wrong && r != nil && r.State != api.PowerUnknown {
		k = append(k, "another machine's") // which no Decide takes for the node's own but a broken one
	}
	switch st.Phase {
	case api.Restoring:
		k = append(k, p.OffAt != nil, s.sh.late)
	case api.Recovering:
		k = append(k, st.Placed, s.sh.late)
		if st.Outcome == "" {
			k = append(k, lease, p.OffAt != nil, age(st.ReadySince, pol.Settings.Recovery.ReadyDuration.Duration), age(st.PhaseSince, pol.Settings.Recovery.BootTimeout.Duration))
		}
	case api.Fenced, api.Failed:
		k = append(k, lease, st.Answer(api.AskedRetry) != nil)
	case "", api.Pending, api.Isolating:
		k = append(k, st.Retries, age(st.DecidedAt, fence.DecisionValidity), st.Placed)
	case api.Fencing:
		k = append(k, st.Retries, age(st.Lease.StillSince, 2*fencetest.Renewal), p.FirstOff != nil && st.Lease.StillSince != nil && st.Lease.StillSince.After(p.FirstOff.At.Time),
			st.BootIDBefore == "", read(p.LastRead, fence.ReadValidity(&s.spec.Decision)), read(p.FirstOff, fence.Settle, fencetest.Renewal+fencetest.Renewal/5),
			age(p.OffAt, pol.Settings.Power.OffTimeout.Duration), age(p.NotBefore, 0), p.LeaseFresh, s.sh.fresh)
		if l := st.Lease.StillSince; p.SwitchedByUs && l != nil && s.now.Sub(l.Time) <= 2*fencetest.Renewal {
			k = append(k, s.spec.Decision.Asker() != nil, p.CutAt != nil && l.After(p.CutAt.Time), s.sh.moved.After(s.sh.sent))
		}
		if !p.SwitchedByUs {
			k = append(k, age(s.sh.decided, fence.DecisionValidity))
		}
	case api.Releasing:
		k = append(k, proof, p.OffAt != nil, st.Lease.StillSince != nil && st.Proof != nil && st.Lease.StillSince.After(st.Proof.At.Time),
			age(st.Release.MarkedAt, fence.Settle), age(st.Release.Deadline, 0), st.Release.DoneAt != nil)
	case api.PoweringOn:
		k = append(k, s.sh.on, lease, p.OffAt != nil, st.BootIDBefore == "", read(p.LastRead, fence.ReadValidity(&s.spec.Decision)), age(p.OnAt, pol.Settings.Power.OffTimeout.Duration),
			age(p.NotBefore, 0), age(p.EffectUntil, 0), p.SupplyTries)
	}
	return spell(k)
}

// spell is a list as JSON, without what that costs where a walk does little else.
func spell(k []any) string {
	b := append(make([]byte, 0, 160), '[')
	for _, v := range k {
		switch v := v.(type) {
		case string:
			b = append(append(append(b, '"'), v...), '"')
		case api.Reason:
			b = append(append(append(b, '"'), v...), '"')
		case api.Phase:
			b = append(append(append(b, '"'), v...), '"')
		case bool:
			b = strconv.AppendBool(b, v)
		case int32:
			b = strconv.AppendInt(b, int64(v), 10)
		case api.Placed:
			b = strconv.AppendBool(strconv.AppendBool(strconv.AppendBool(b, v.Taint), v.Cordon), v.OutOfService)
		default:
			raw, _ := json.Marshal(v)
			b = append(b, raw...)
		}
		b = append(b, ',')
	}
	return string(b)
}

// aside is a walk of its own: of fences that wait in ways that no other does.
type aside struct {
	specs []fencetest.Given
	live  bool
}

func asides() []aside {
	return []aside{{[]fencetest.Given{deviceSpec(), aloneSpec()}, false}, {[]fencetest.Given{kdumpSpec(), noneSpec()}, true}, {[]fencetest.Given{dumpProofSpec()}, true}, {[]fencetest.Given{fabricSpec(), cutSpec()}, true},
		{[]fencetest.Given{goneSpec()}, true}, {[]fencetest.Given{machineSpec()}, true}, {[]fencetest.Given{bareSpec()}, true}, {[]fencetest.Given{heldSpec()}, true}, {[]fencetest.Given{manualSpec()}, false}}
}

// add takes in what another walk has seen.
func (w *walker) add(x *walker) {
	w.decisions += x.decisions
	maps.Copy(w.seen, x.seen)
	maps.Copy(w.edges, x.edges)
	maps.Copy(w.broken, x.broken)
}

func TestWalk(t *testing.T) {
	w := newWalker(fence.Decide)
	w.run(starts()...)
	for _, from := range asides() {
		x := newWalker(fence.Decide)
		x.live, x.levels = from.live, false
		x.run(from.specs...)
		w.add(x)
	}
	fmt.Printf("walk: %d states, %d decisions, %d kinds of transition\n", len(w.seen), w.decisions, len(w.edges))
	for promise, where := range w.broken {
		t.Errorf("%s: %s", promise, where)
	}
	for _, p := range []api.Phase{api.Isolating, api.Fencing, api.Releasing, api.PoweringOn, api.Restoring, api.Recovering, api.Fenced, api.Failed} {
		if !w.visited(p) {
			t.Errorf("the walk never came to %s", p)
		}
	}
	checkDiagram(t, w)
}

func (w *walker) visited(p api.Phase) bool {
	prefix := fmt.Sprintf("[%q,", p)
	for k := range w.seen {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

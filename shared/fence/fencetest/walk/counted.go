package walk

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The second walk: of a fence whose history and past are kept, under limits for a day,
// with several tries a step and several passes through the flow. Days pass in it, and a
// fence that was closed opens again. The rest of the world is smaller than in the first.

func (s *State) isCounted() bool { return s.spec.Decision.Policy.Name == specs.CountedName }

const aDay = 24 * time.Hour

// countedOrigins are a record whose ten last fences cut nothing, and which has a long
// history already; and one that is about to open again, and whose oldest fence cut.
func countedOrigins(spec fencetest.Given) []State {
	at := func(ago time.Duration) api.Time { return observed.StampOf(fencetest.Start.Add(-ago)) }
	var past []api.PastFence
	for i := range 10 {
		closed := at(time.Duration(11-i) * time.Hour)
		past = append(past, api.PastFence{FenceNumber: int64(i + 1), OpenedAt: closed, ClosedAt: closed, Outcome: api.HealedBeforeFence})
	}
	opened := at(time.Hour)
	open := State{now: fencetest.Start, spec: spec, sh: shadow{moved: opened.Time, renewed: "r0"}}
	open.st = api.NodeFenceStatus{
		MinReaderVersion: api.Schema, FenceNumber: spec.FenceNumber, Phase: api.Pending, OpenedAt: &opened, PhaseSince: &opened, Past: past,
		Lease: api.LeaseRecord{Renewed: "r0", StillSince: &opened},
	}
	for i := range 61 {
		open.st.History = append(open.st.History, api.HistoryEntry{At: opened, Phase: api.Pending, Reason: api.TooManyConcurrent, Message: fmt.Sprint(i)})
	}
	again := open
	again.st.Past = slices.Clone(past)
	again.st.Past[0].Cuts = 1
	again.st.Phase = ""
	again.sh.before = []closedFence{{number: 1, cuts: []time.Time{past[0].OpenedAt.Time}, closed: past[0].ClosedAt.Time}, {number: 11, closed: opened.Time}}
	return []State{open, again}
}

// counted is what really came of a record's tries and cuts.
type counted struct {
	// offs are our Offs since this pass through the flow began, misses the reads
	// without an answer since then or since the last proof.
	offs, misses int
	// passes are those that came after the first, since it was opened or begun anew.
	passes int
	// cuts are when this fence cut the power, without those a day and more before the
	// next, last is when its last Off was sent.
	cuts []time.Time
	last time.Time
	// before are the fences of this node that are closed.
	before []closedFence
}

type closedFence struct {
	number int64
	cuts   []time.Time
	closed time.Time
}

// inDay is how often this node's power was cut within the last day.
func (c *counted) inDay(now time.Time) int {
	n, all := 0, c.cuts
	for _, b := range c.before {
		all = append(all[:len(all):len(all)], b.cuts...)
	}
	for _, at := range all {
		if now.Sub(at) < aDay {
			n++
		}
	}
	return n
}

// count is how often, where a closed fence's cuts count for a day from its end, and an
// open one's from its last Off: later than each cut, so that none is forgotten too soon.
func (c *counted) count(now time.Time) int {
	n := 0
	if now.Sub(c.last) < aDay {
		n = len(c.cuts)
	}
	for _, b := range c.before {
		if now.Sub(b.closed) < aDay {
			n += len(b.cuts)
		}
	}
	return n
}

// beginsAnew: a person asks for it; or the machine reads on after our Off, and the gate has
// to allow another cut.
func (s *State) beginsAnew(sh *shadow, asked bool, a *api.NodeFenceStatus) bool {
	n := len(sh.reads)
	on := (s.st.Awaited != nil || s.sh.cut) && n > 0 && sh.reads[n-1].State == api.PoweredOn
	return a.Phase == api.Pending && s.st.Phase != api.Pending && (asked && s.st.Answer(api.AskedRetry) == nil || on)
}

// counts takes a step into the account.
func (sh *shadow) counts(s *State, l *look, a *api.NodeFenceStatus, act fence.Action, now time.Time) {
	if !s.isCounted() {
		return
	}
	c := l.seen.Call
	if c != nil && s.st.Claim != nil && s.st.Claim.Holder == l.seen.Me && c.Call == api.CallRead && s.st.Phase == api.Fencing && s.st.Awaited == nil {
		if c.Power == "" {
			sh.misses++
		}
	}
	switch {
	case s.st.Phase == "":
	case s.beginsAnew(sh, l.retry, a):
		sh.offs, sh.misses, sh.passes = 0, 0, 0
	case a.Restarts != s.st.Restarts:
		sh.offs, sh.misses = 0, 0
		sh.passes++
	case a.Awaited != nil || a.Phase == api.Releasing:
		sh.misses = 0
	}
	if act != fence.Off {
		return
	}
	sh.offs++
	if !s.sh.cut && now.Sub(sh.last) >= aDay {
		sh.cuts = nil // the record need not tell of them any more
	}
	sh.last = now
	if !s.sh.cut {
		sh.cuts = append(slices.Clip(sh.cuts), now)
	}
}

// strip drops what no decision reads in this state's world.
func (s *State) strip() {
	was := s.st
	strip(&s.st)
	if s.isCounted() {
		s.st.History, s.st.Past, s.st.Retries = was.History, was.Past, min(was.Retries, 3)
	}
}

func (s *State) countedKey() []any {
	if !s.isCounted() {
		return nil
	}
	sh, st := &s.sh, &s.st
	k := []any{"counted", min(sh.passes, 4), min(sh.inDay(s.now), 3), min(sh.count(s.now), 3), min(st.Power.Cuts, 3), st.Answer(api.AskedRetry) != nil}
	if st.Phase == api.Isolating || st.Phase == api.Fencing || st.Phase == api.Releasing && st.Release.StartedAt == nil {
		k = append(k, min(sh.offs, 4), min(sh.misses, 4), st.Retries)
	}
	return k
}

// opensAgain: a fence that was closed opens again, at once or the day after.
func (w *walker) opensAgain(s *State) {
	if !s.isCounted() || s.st.Phase != api.Finished {
		return
	}
	n := *s
	n.spec.FenceNumber, n.st.Phase = n.spec.FenceNumber+1, ""
	n.sh = shadow{reads: s.sh.reads, moved: s.sh.moved, renewed: s.sh.renewed, effect: s.sh.effect, until: s.sh.until}
	n.sh.before = append(slices.Clip(s.sh.before), closedFence{s.spec.FenceNumber, s.sh.cuts, s.now})
	w.push(&n)
}

package walk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// strip drops what no decision reads.
func strip(st *api.NodeFenceStatus) {
	st.History, st.Past, st.Conditions, st.Message, st.Transitions = nil, nil, nil, "", 0
	st.Release.NotAfter, st.Release.Batches, st.Release.Batch, st.Release.Pods, st.Release.PodsLeft, st.Release.AttachmentsLeft = nil, 0, 0, 0, 0, 0
	if st.Drain != nil {
		st.Drain = st.Drain.DeepCopy()
		st.Drain.Rounds, st.Drain.PodsLeft, st.Drain.Left = min(st.Drain.Rounds, 1), 0, ""
	}
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
func key(s *State) string {
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
		proof = string(st.Proof.Type) + st.Proof.BootIDBefore + age(&st.Proof.At, promisedProofOf(&s.spec.Decision))
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
	k = append(k, s.begunKey()...)
	k = append(k, s.goneKey(age)...)
	k = append(k, s.machineKey()...)
	k = append(k, s.bareKey(age)...)
	k = append(k, s.holdKey()...)
	k = append(k, s.manualKey()...)
	k = append(k, s.delayedKey(age)...)
	k = append(k, s.drainKey(age)...)
	k = append(k, s.wentKey(age)...)
	k = append(k, s.awaitedKey()...)
	k = append(k, s.countedKey()...)
	k = append(k, s.joinedKey(age)...)
	k = append(k, s.wordKey(age)...)
	k = append(k, s.reportedKey()...)
	k = append(k, s.lieKey()...)
	k = append(k, s.dryKey()...)
	if s.isGentle() {
		k = append(k, gentleKey(s, age)...)
	}
	if e := activityKey(s, age) + s.kdumpKey(age) + s.cutKey(age); e != "" {
		k = append(k, e)
	}
	if r := p.LastRead; s.sh.wrong && r != nil && r.State != api.PowerUnknown {
		k = append(k, "another machine's") // which no Decide takes for the node's own but a broken one
	}
	return spell(s.phaseKey(k, age, read, proof, lease))
}

// phaseKey adds what a phase reads besides, and those after it.
func (s *State) phaseKey(k []any, age func(*api.Time, ...time.Duration) string, read func(*api.Read, ...time.Duration) string, proof, lease string) []any {
	st, p, pol := &s.st, &s.st.Power, &s.spec.Decision.ResolvedPolicy
	switch st.Phase {
	case api.Restoring:
		k = append(k, p.OffAt != nil, s.sh.late)
	case api.Recovering:
		k = append(k, placed(st.Placed), s.sh.late)
		k = append(k, s.reportKey(age)...)
		if st.Outcome == "" {
			k = append(k, lease, p.OffAt != nil, age(st.ReadySince, pol.Settings.Recovery.ReadyDuration.Duration), age(st.PhaseSince, pol.Settings.Recovery.BootTimeout.Duration))
		}
	case api.Fenced, api.Failed:
		k = append(k, lease, st.Answer(api.AskedRetry) != nil)
	case "", api.Pending, api.Isolating:
		k = append(k, st.Retries, age(st.DecidedAt, facts.AdmissionValidity(&s.spec.Decision)), placed(st.Placed))
	case api.Probing, api.Fencing:
		k = append(k, st.Retries, age(st.Lease.StillSince, 2*fencetest.Renewal), p.FirstOff != nil && st.Lease.StillSince != nil && st.Lease.StillSince.After(p.FirstOff.At.Time),
			st.BootIDBefore == "", read(p.LastRead, promisedReadOf(&s.spec.Decision)), read(p.FirstOff, facts.Settle, fencetest.Renewal+fencetest.Renewal/5),
			age(p.OffAt, promisedShows(&s.spec.Decision)), age(p.NotBefore, 0), p.LeaseFresh, s.sh.fresh)
		if l := st.Lease.StillSince; p.SwitchedByUs && l != nil && s.now.Sub(l.Time) <= 2*fencetest.Renewal {
			k = append(k, s.spec.Decision.Asker() != nil, s.sh.withdrawn, p.CutAt != nil && l.After(p.CutAt.Time), s.sh.moved.After(s.sh.sent))
		}
		if !p.SwitchedByUs {
			k = append(k, st.Placed.Taint, age(s.sh.decided, facts.AdmissionValidity(&s.spec.Decision)))
		}
	case api.Releasing:
		k = append(k, proof, p.OffAt != nil, st.Lease.StillSince != nil && st.Proof != nil && st.Lease.StillSince.After(st.Proof.At.Time),
			age(st.Release.MarkedAt, facts.Settle), age(st.Release.Deadline, 0), st.Release.DoneAt != nil, st.Release.TimedOut)
	case api.PoweringOn:
		k = append(k, s.sh.on, lease, p.OffAt != nil, st.BootIDBefore == "", read(p.LastRead, promisedReadOf(&s.spec.Decision)), age(p.OnAt, promisedShows(&s.spec.Decision)),
			age(p.NotBefore, 0), age(p.EffectUntil, 0), p.SupplyTries)
	}
	return k
}

// placed is what is on the node, whenever that was seen (see delayedKey).
func placed(p api.Placed) api.Placed {
	p.IsolatedAt = nil
	return p
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

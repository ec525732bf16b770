package fence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatOutlastsACallFollowsFromIt: for each limit that may be set, what must outlast a call
// does, by as much as with the usual one; and with a shorter one nothing is shorter.
func TestWhatOutlastsACallFollowsFromIt(t *testing.T) {
	for limit := time.Second; limit <= api.LongestDeviceCall; limit += time.Second {
		dec := &api.Decision{}
		dec.DeviceCallTimeout.Duration = limit
		call := max(limit, 20*time.Second)
		for what, c := range map[string]struct{ is, want time.Duration }{
			"S17: a yes outlasts a read, and what is saved beside it, by":       {facts.AdmissionValidity(dec) - call, 40 * time.Second},
			"S3: a proof outlasts its last read, which it is dated before, by":  {(&facts.Facts{Decision: dec}).ProofHolds() - call, 10 * time.Second},
			"S9: an Off follows a read that one lost wake-up may have delayed,": {facts.ReadValidity(dec) - limit, 35 * time.Second},
			"S7: a call takes": {dec.CallLimit(), limit},
		} {
			if c.is != c.want {
				t.Errorf("calls of %s: %s %s, want %s", limit, what, c.is, c.want)
			}
		}
	}
}

// slowDevice is one that answers each call after so long, or is cut off at the call's end.
type slowDevice struct {
	limit, takes time.Duration
	// offTimeout is the policy's; off is how long after an accepted Off the machine is.
	offTimeout, off time.Duration
}

// fenced is how a fence ends by it: its record, and how often it was told to switch off. Another
// invocation comes by in the middle of each call.
func (s slowDevice) fenced(t *testing.T) (ended api.NodeFenceStatus, offs int) {
	t.Helper()
	limit, takes, spec := s.limit, s.takes, specs.LongCalls()
	spec.Decision.DeviceCallTimeout.Duration = limit
	if s.offTimeout > 0 {
		spec.Decision.Settings.Power.OffTimeout.Duration = s.offTimeout
	}
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{})}
	f.UID = "fence-1"
	now, goesOff := fencetest.Start, time.Time{}
	for range 60 {
		if n := f.Status.NextLook; n != nil && n.After(now) {
			now = n.Time
		}
		now = now.Add(time.Millisecond)
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		seen.ReservedCall = limit
		st, act := fence.Decide(f, seen, now)
		f.Status = st
		for act != fence.None && !act.Device() {
			seen.Node.Taint, seen.Node.OutOfService = f.Status.Placed.Taint, f.Status.Placed.OutOfService
			f.Status, act = fence.Decide(f, seen, now)
		}
		if f.Status.Phase == api.Recovering || f.Status.Phase == api.Failed {
			return f.Status, offs
		}
		if !act.Device() {
			continue
		}
		c := &observed.CallResult{Call: api.Call(act), At: now}
		end := now.Add(min(takes, limit))
		middle := now.Add(end.Sub(now) / 2)
		by := fencetest.Look(f, middle, "Unknown", false, "a")
		by.Me, by.ReservedCall = "another", limit
		if _, too := fence.Decide(f, by, middle); too != fence.None {
			t.Fatalf("S7: during %s another invocation does %s", act, too)
		}
		on := goesOff.IsZero() || now.Before(goesOff)
		switch {
		case act == fence.Off && offs == 0:
			goesOff, offs = end.Add(s.off), 1
		case act == fence.Off:
			offs++
		case act == fence.On:
			goesOff = time.Time{}
		}
		if takes > limit {
			c.Err = "it was ended, having no time left"
		} else if act == fence.Read {
			c.Power = map[bool]string{true: "On", false: "Off"}[on]
		}
		now = end
		seen = fencetest.Look(f, now, "Unknown", false, "a")
		seen.ReservedCall, seen.Call = limit, c
		f.Status, _ = fence.Decide(f, seen, now)
	}
	return f.Status, offs
}

// TestADeviceThatAnswersAfterFortySeconds is fenced where calls may take a minute, with one Off.
// With the usual limit each call is ended, and the fence fails without an Off, as ever.
func TestADeviceThatAnswersAfterFortySeconds(t *testing.T) {
	for name, c := range map[string]struct {
		limit, takes time.Duration
		want         string
	}{
		"calls of a minute":             {time.Minute, 40 * time.Second, "Recovering, 1 Off"},
		"a call that takes all of it":   {time.Minute, time.Minute, "Recovering, 1 Off"},
		"the longest calls, all of it":  {api.LongestDeviceCall, api.LongestDeviceCall, "Recovering, 1 Off"},
		"the usual calls":               {api.DeviceCall, 40 * time.Second, "Failed, 0 Off"},
		"a usual call, all of it":       {api.DeviceCall, api.DeviceCall, "Recovering, 1 Off"},
		"too slow for a minute as well": {time.Minute, 61 * time.Second, "Failed, 0 Off"},
	} {
		st, offs := slowDevice{limit: c.limit, takes: c.takes}.fenced(t)
		if got := fmt.Sprintf("%s, %d Off", st.Phase, offs); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAFenceGoesOnWithASlotAsLongAsItIsKept: by the calls for which it was reserved. If those
// calls are shorter than the fence's, the fence's calls take no longer from there (S14, S17).
func TestAFenceGoesOnWithASlotAsLongAsItIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		age, reserved time.Duration
		want          string
	}{
		"a minute's slot":                        {60 * time.Second, time.Minute, "Isolating, calls of 1m0s"},
		"a minute's slot, as old as it may be":   {100 * time.Second, time.Minute, "Isolating, calls of 1m0s"},
		"a minute's slot, too old":               {101 * time.Second, time.Minute, "Pending, calls of 1m0s"},
		"a slot that does not say":               {60 * time.Second, 0, "Isolating, calls of 20s"},
		"a slot that does not say, too old":      {61 * time.Second, 0, "Pending, calls of 1m0s"},
		"one of half a minute":                   {70 * time.Second, 30 * time.Second, "Isolating, calls of 30s"},
		"one of half a minute, too old":          {71 * time.Second, 30 * time.Second, "Pending, calls of 1m0s"},
		"one of longer calls than the fence has": {100 * time.Second, 2 * time.Minute, "Isolating, calls of 1m0s"},
		"one of longer calls, too old for it":    {101 * time.Second, 2 * time.Minute, "Pending, calls of 1m0s"},
	} {
		f := &api.NodeFence{Spec: specs.LongCalls().AsSpec(), Status: specs.LongCalls().In(api.NodeFenceStatus{})}
		f.Status.Phase, f.Status.MinReaderVersion = api.Pending, api.Schema
		now := fencetest.Start.Add(time.Hour)
		seen, at := fencetest.Look(f, now, "Unknown", false, "a"), now.Add(-c.age)
		seen.Reserved, seen.ReservedCall = &at, c.reserved
		st, _ := fence.Decide(f, seen, now)
		if got := fmt.Sprintf("%s, calls of %s", st.Phase, st.Decision.CallLimit()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if f.Status.Decision.DeviceCallTimeout.Duration != specs.LongCall {
			t.Errorf("%s: Decide changed the record that it was given", name)
		}
	}
}

// TestAFenceThatHasLeftTheGateGoesOnAsLongAsItsSlotIsKept: the phases after it begin nothing by a
// yes that outlasts the slot (S14, S17).
func TestAFenceThatHasLeftTheGateGoesOnAsLongAsItsSlotIsKept(t *testing.T) {
	const none = -1
	for name, c := range map[string]struct {
		age, reserved time.Duration
		goesOn        bool
	}{
		"a minute's slot, as old as it may be":          {100 * time.Second, time.Minute, true},
		"a minute's slot, too old":                      {101 * time.Second, time.Minute, false},
		"a slot that does not say, as old as it may be": {60 * time.Second, 0, true},
		"a slot that does not say, too old":             {61 * time.Second, 0, false},
		"one of half a minute, as old as it may be":     {70 * time.Second, 30 * time.Second, true},
		"one of half a minute, too old":                 {71 * time.Second, 30 * time.Second, false},
		"one of longer calls than the fence has":        {100 * time.Second, 2 * time.Minute, true},
		"one of longer calls, too old for it":           {101 * time.Second, 2 * time.Minute, false},
		"none that the ledger has, as old as it may be": {60 * time.Second, none, true},
		"none that the ledger has, and a yes too old":   {61 * time.Second, none, false},
	} {
		for _, phase := range []api.Phase{api.Isolating, api.Probing, api.Fencing} {
			f := &api.NodeFence{Spec: specs.LongCalls().AsSpec(), Status: specs.LongCalls().In(api.NodeFenceStatus{})}
			now := fencetest.Start.Add(time.Hour)
			yes, reserved := observed.StampOf(now.Add(-c.age)), now.Add(-c.age)
			f.Status.Phase, f.Status.MinReaderVersion = phase, api.Schema
			f.Status.DecidedAt, f.Status.PhaseSince, f.Status.Placed.Taint = &yes, &yes, true
			if need := fence.Needs(f, &observed.Look{}); !need.Brakes {
				t.Fatalf("%s: the ledger is not looked at", phase)
			}
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Reserved, seen.ReservedCall = &reserved, c.reserved
			if c.reserved == none {
				seen.Reserved, seen.ReservedCall = nil, 0
			}
			st, act := fence.Decide(f, seen, now)
			if sent := st.Phase == api.Pending && st.Reason == api.DecisionExpired; sent == c.goesOn || sent && act != fence.None {
				t.Errorf("%s, %s: %s %s, and %s; goes on: want %t", name, phase, st.Phase, st.Reason, act, c.goesOn)
			}
		}
	}
}

// TestAMachineHasItsTimeToGoOffAfterALongCall: one that goes off well within power.offTimeout after
// its Off was accepted, at a device that takes the whole time for each call, gets one Off, and costs
// no try. One that takes longer does.
func TestAMachineHasItsTimeToGoOffAfterALongCall(t *testing.T) {
	for _, limit := range []time.Duration{20 * time.Second, time.Minute, 2 * time.Minute} {
		for off, want := range map[time.Duration]string{10 * time.Second: "Recovering, 1 Off, late: false", time.Hour: "Failed, 2 Off, late: true"} {
			st, offs := slowDevice{limit, limit, time.Minute, off}.fenced(t)
			late := slices.ContainsFunc(st.History, func(h api.HistoryEntry) bool { return h.Reason == api.PowerOffNotSeen })
			if got := fmt.Sprintf("%s, %d Off, late: %t", st.Phase, offs, late); got != want {
				t.Errorf("calls of %s, off %s after them: %s, want %s", limit, off, got, want)
			}
		}
	}
}

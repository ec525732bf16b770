package walk

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// bound is how many looks a fence may need to end in a world that means well.
const bound = 400

// liveness follows a state into two worlds: one in which everything works, where
// it must end or stay fenced; and one in which the device is dead for ever and a
// person deletes the record, which must end too (S27).
func (w *walker) liveness(s *State) {
	if s.isHeld() {
		w.liveHeld(s)
	}
	for _, world := range []struct {
		name string
		dead bool
	}{{"a world in which everything works", false}, {"a world whose device is dead, after a person has ended it", true}} {
		if p := w.follow(s, world.dead); p != api.Finished && (world.dead || p != api.Fenced && p != api.Failed) {
			promise := "S27: it ends in " + world.name
			if w.broken[promise] == "" {
				w.broken[promise] = fmt.Sprintf("from %s (%s) it came to %s", s.st.Phase, key(s), p)
			}
		}
	}
}

// follow goes on for so many looks, each of which may be changed.
func (w *walker) follow(s *State, dead bool, change ...func(look int, seen *observed.Look)) api.Phase {
	p, _ := w.followFrom(s, dead, !s.isRead(), change...) // what nobody may switch is off
	return p
}

// followFrom begins with a machine that is on or off, and tells how it is in the end.
func (w *walker) followFrom(s *State, dead, on bool, change ...func(look int, seen *observed.Look)) (api.Phase, bool) {
	st, now := s.st, s.now
	boot, beats, mark := "a", 0, "f0"
	if !on {
		mark = st.Lease.Renewed // nobody renews it
	}
	access, gone := "On", false
	for look := range bound {
		if st.NextLook != nil && st.NextLook.After(now) {
			now = st.NextLook.Time
		}
		if CallElsewhere(&s.spec.Decision, &st, "me", now) {
			now = takenOver(&s.spec.Decision, &st) // the source sends what is overdue again and again
		}
		if s.isCounted() && st.Reason == api.NodeFencedTooOften {
			now = now.Add(aDay) // which is what it waits for
		}
		now = now.Add(time.Millisecond)
		f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "fence-1"}, Spec: s.spec.AsSpec(), Status: s.spec.In(st)}
		seen := usual(s, now, "Unknown", false, boot)
		seen.Me, seen.Deleting, seen.Node.Exists = "me", dead, !gone && !s.isBare()
		seen.MachineLooked, seen.Machine = s.isBare(), bareMachine(s, !gone)
		seen.Node.Taint, seen.Node.OutOfService = st.Placed.Taint, st.Placed.OutOfService
		seen.Node.Cordoned, seen.Node.CordonOurs = st.Placed.Cordon, st.Placed.Cordon
		seen.Lease.Renewed = mark
		if st.Phase == api.Restoring && !dead {
			boot = "b" // somebody reboots it
		}
		if on && boot != "a" {
			beats++
			seen.Node.Conditions[0].Status = "True"
			seen.Lease.Renewed = fmt.Sprint("f", beats)
		}
		for _, do := range change {
			do(look, &seen)
		}
		var act fence.Action
		st, act = w.decide(f, seen, now)
		for i := 0; act != fence.None && i < bound; i++ {
			f.Status = st
			switch {
			case act.Device():
				c := &observed.CallResult{Call: api.Call(act), At: now}
				now = now.Add(s.callTakes())
				isolates := fencetest.CutsOff(&st) // without a claim it is caught elsewhere
				switch {
				case dead:
					c.Err = "unreachable"
				case isolates && act == fence.Read:
					c.Power = access
				case isolates:
					access = string(act)
				case act == fence.Off:
					on = false
				case act == fence.On:
					on, boot = true, "b"
				case on:
					c.Power = "On"
				default:
					c.Power = "Off"
				}
				seen.Call = c
			case act == fence.Check:
				seen.Checked = checkedAll(st, api.AnswerNone)
			case act == fence.Undo:
				seen.Node.Taint, seen.Node.Cordoned = false, false
			case act == fence.WriteReport:
				seen.Report = &observed.Report{Digest: st.Report.Digest}
			case act == fence.DropFinalizer:
				seen.Finalizer = false
			case act == fence.ClearOutOfService:
				seen.Node.OutOfService, seen.Cleared = false, true
			case act == fence.Isolate:
				seen.Node.Taint = true
			case act == fence.DeleteMachine:
				gone, seen.Machine = true, nil
			case act == fence.DeleteNode:
				gone, seen.Node.Exists = true, false
			case act == fence.Release:
				seen.Node.OutOfService, seen.Cleared = true, false
			}
			was := act
			st, act = w.decide(f, seen, now)
			if was.Device() {
				break
			}
		}
		seen.Call, seen.Checked = nil, nil
		if st.Phase == api.Finished {
			return st.Phase, on
		}
		if stays := st.Phase == api.Fenced || st.Phase == api.Failed && f.Status.Phase == api.Failed; !dead && stays {
			return st.Phase, on
		}
	}
	return st.Phase, on
}

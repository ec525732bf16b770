package walk

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// saw updates the shadow by what the look really showed.
func (sh shadow) saw(spec fencetest.Given, seen observed.Look, st api.NodeFenceStatus, now time.Time) shadow {
	if !CallElsewhere(&spec.Decision, &st, seen.Me, now) {
		sh.sick = sh.sickSince(seen, now)
		sh.beats(&seen, now)
		sh.quiets(&seen, now)
		sh.voids(&spec, &seen, &st, now)
		sh.isolates(&spec, &seen, &st, now)
		sh.machine = seen.Machine != nil || sh.machine && !seen.MachineLooked
	}
	if seen.Lease.Exists && seen.Lease.Renewed != sh.renewed {
		sh.renewed, sh.moved = seen.Lease.Renewed, now
	}
	c := seen.Call
	if c == nil || st.Claim == nil || st.Claim.Holder != seen.Me {
		return sh
	}
	if spoken := c.Call != api.CallRead || sh.hears(&spec.Decision, &st, c); !spoken {
		return sh
	}
	if c.Call == api.CallRead {
		sh.readFrom(&spec.Decision, st.Claim.Device, c)
		r := api.Read{State: api.StateOf(c.Power), MissingSupply: c.MissingSupply, At: metav1.NewMicroTime(c.At)}
		if n := len(sh.reads); n > 0 && sh.reads[n-1].State == api.StateOf(c.Power) {
			sh.reads = []api.Read{sh.reads[0], r} // the first and the last of a row of the same
		} else {
			sh.reads = []api.Read{r}
		}
		sh.wrong = c.Wrong
	} else if !c.NotMade {
		sh.effect[st.Power.Level] = now.Add(delayAt(&spec, st.Power.Level))
		sh.until = now.Add(longest(&spec))
	}
	return sh
}

// switched: whether the machine is cut, by whose word, and whether it may yet be.
func (sh *shadow) switched(s *State, seen *observed.Look, after *api.NodeFenceStatus, act fence.Action, now time.Time) {
	justOn := seen.Call != nil && seen.Call.Call == api.CallRead && seen.Call.Power == "On" && !seen.Call.Wrong
	if act == fence.Off && (s.readOn() || seen.HandsOver && justOn) {
		sh.cut = true
	}
	if after.Phase == api.Recovering || after.Phase == api.Fenced || sh.readsOn(s, after) {
		sh.cut = sh.cut && after.Power.SwitchedByUs
	}
	sh.begunOver(s, justOn, after, act)
	if act == fence.Off || act == fence.On {
		sh.on = act == fence.On
	}
	if act == fence.Off {
		sh.sent = now
	}
	if back := after.Phase == api.Recovering || after.Phase == api.Restoring; back && s.st.Phase != api.Restoring && s.st.Phase != after.Phase {
		sh.late = sh.on || now.Before(sh.until) || s.isRestored()
	}
}

// entered: what a phase that is entered or left says of the gate's yes, and of a machine that
// is found off.
func (sh *shadow) entered(s *State, seen *observed.Look, after *api.NodeFenceStatus, now time.Time) {
	if after.Phase == api.Isolating && s.st.Phase != api.Isolating && seen.Reserved != nil {
		at := observed.StampOf(*seen.Reserved)
		sh.decided = &at
	}
	if s.st.Phase == api.Recovering && after.ReadySince != nil && !now.Before(sh.until) {
		sh.late = s.isRestored()
	}
	if s.st.Phase == api.Recovering && after.Phase == api.PoweringOn {
		sh.cut = sh.late // found off in recovery: a late Off of ours (S8)
	}
}

// acted: what an action has begun, and until when it may take effect.
func (sh *shadow) acted(s *State, seen *observed.Look, after *api.NodeFenceStatus, act fence.Action, now time.Time) {
	if act == fence.DeleteMachine {
		sh.asked++
	}
	if act == fence.Off {
		still := after.Lease.StillSince
		sh.fresh = seen.Lease.Exists && still != nil && now.Sub(still.Time) < 2*fencetest.Renewal
	}
	sh.level(&s.st, after, seen, act)
	sh.served = sh.served || act == fence.Off || act == fence.Release
	sh.deletedBy(after, act, now)
	if act == fence.Off || act == fence.On {
		sh.effect[after.Power.Level] = now.Add(s.spec.Decision.DeviceCallTimeout.Duration + delayAt(&s.spec, after.Power.Level))
		sh.until = now.Add(s.spec.Decision.DeviceCallTimeout.Duration + longest(&s.spec))
	}
}

// longest is until when a call to any of the devices takes effect.
func longest(spec *fencetest.Given) time.Duration { return max(delayAt(spec, 0), delayAt(spec, 1)) }

// level: reads are of one device each (S3), and each that was told to cut the
// power owes a power-on (S25).
func (sh *shadow) level(before, after *api.NodeFenceStatus, seen *observed.Look, act fence.Action) {
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

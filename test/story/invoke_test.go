package story

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// invoke is one function's run: look, decide, save, act, and after a device call
// look once more. It may die after any save.
func (w *world) invoke(why string) {
	if w.mute {
		return // whatever it wants to know, it does not learn; the broker or the source comes again
	}
	me := fmt.Sprint("i", w.handled, "/", w.saves)
	var call *observed.CallResult
	var checked *observed.Checked
	var verdict *observed.Verdict
	var asked asks
	from, cleared := w.record.Status.Phase, -1
	for range 16 {
		seen := w.look(me)
		seen.Call, seen.Checked, seen.Cleared = call, checked, cleared == w.saves
		seen.MayDrain, seen.MayCheck, seen.Evicted = asked.mayDrain, asked.mayCheck, asked.evicted
		seen.DryRun = w.dryRun
		if verdict != nil {
			seen.Verdict = verdict
		}
		st, act := fence.Decide(&w.record, seen, w.now)
		if !equality.Semantic.DeepEqual(st, w.record.Status) {
			w.save(st)
			if w.twist.meet != nil {
				w.twist.meet(w, w.saves)
			}
			if w.saves == w.twist.die {
				w.say("(the process dies)")
				return
			}
		}
		if act == fence.None || call != nil {
			break
		}
		if w.drainStep(act, &asked) {
			continue
		}
		if act == fence.DryReserve {
			w.dryRun = cmp.Or(w.dryRun, &observed.DryRun{At: w.now})
			continue
		}
		if act == fence.Reserve {
			verdict = w.reserve()
			continue
		}
		if act == fence.Check {
			asked.mayCheck, checked = false, w.check()
			continue
		}
		call = w.act(act, seen)
		if act == fence.ClearOutOfService {
			cleared = w.saves
		}
	}
	if w.record.Status.Phase != from || (w.record.Status.NextLook != nil && !w.record.Status.NextLook.After(w.now)) {
		w.wake(10*time.Millisecond, "reply")
	}
}

func (w *world) save(st api.NodeFenceStatus) {
	w.saves++
	old := w.record.Status
	if w.isShut() && st.Power.SwitchedByUs && !old.Power.SwitchedByUs {
		w.wrong("a first Off in a pause window, at +%s", w.now.Sub(start)) // S25
	}
	w.record.Status = st
	if old.Phase != st.Phase || old.Reason != st.Reason || old.Message != st.Message {
		w.say("%-10s %-18s %s", st.Phase, st.Reason, st.Message)
	}
}

func (w *world) act(a fence.Action, seen observed.Look) *observed.CallResult {
	w.tooEarly(a)
	ofNode := !a.Device() && a != fence.WriteReport && a != fence.DropFinalizer
	if seen.Node.UID != w.record.Status.Decision.NodeUID && ofNode {
		w.wrong("%s in the name of another node, at +%s", a, w.now.Sub(start)) // S6
	}
	if seen.Brakes.Paused && w.offs == 0 && a == fence.Off {
		w.wrong("cut while everything is paused, at +%s", w.now.Sub(start)) // S25
	}
	if w.isShut() && a == fence.Isolate {
		w.wrong("isolated in a pause window, at +%s", w.now.Sub(start)) // S25
	}
	if seen.Brakes.Stopped && a == fence.Off {
		w.wrong("cut while everything is stopped, at +%s", w.now.Sub(start)) // S16, S25
	}
	if seen.Node.UID != w.uid && ofNode {
		return nil // another node since that look: the API server refuses what names the old UID
	}
	switch a {
	case fence.Read, fence.Off, fence.On:
		return w.device(a)
	case fence.Isolate:
		w.taint, w.cordon = true, !w.hers
	case fence.Undo:
		w.taint, w.cordon = false, false
	case fence.ClearOutOfService:
		w.oos = false
	case fence.WriteReport:
		w.reports[w.record.Status.Report.Name] = &observed.Report{Digest: w.record.Status.Report.Digest}
	case fence.DropFinalizer:
		w.finalizer = false
	case fence.MarkNotReady:
		w.ready, w.reason, w.readySince = "Unknown", api.NotReadyReason, w.now
	case fence.Release:
		w.release()
	}
	return nil
}

// release is where it would go wrong: the pod starts elsewhere from here.
func (w *world) release() {
	if w.writes() {
		w.wrong("released while the machine writes, at +%s", w.now.Sub(start))
	}
	w.oos = facts.ReleaseOf(&w.record).Taints()
	if w.left > 1 {
		w.say("           the pod is deleted, and starts elsewhere")
		w.left = 1
		w.effects = append(w.effects, effect{w.now.Add(time.Second), func() { w.left = 0; w.say("           the volume is detached") }})
	}
}

// device is the BMC, honest or not.
func (w *world) device(a fence.Action) *observed.CallResult {
	r := &observed.CallResult{Call: api.Call(a), At: w.now}
	for i, b := range w.record.Status.Decision.Isolation() {
		if b.Name == w.record.Status.Claim.Device {
			w.fabrics[i].say(w, a, r)
			return r
		}
	}
	if w.record.Status.Power.Level > 0 {
		w.outlet(a, r)
		return r
	}
	switch {
	case w.bmc == "dead":
		r.Err = cmp.Or(w.away, "device unreachable")
	case a == fence.Read && w.bmc == "lie":
		r.Power = "Off"
	case a == fence.Read && w.on:
		r.Power = "On"
	case a == fence.Read:
		r.Power = "Off"
	case a == fence.Off:
		w.offs++
		w.say("           BMC: off")
		w.powerOff()
		if w.dies > 0 {
			w.bmc = "dead"
			w.effects = append(w.effects, effect{w.now.Add(w.dies), func() { w.bmc = ""; w.say("           the device answers again") }})
			w.dies = 0
		}
	case a == fence.On:
		w.ons++
		w.say("           BMC: on")
		if until := w.record.Status.Release.Deadline; w.left > 0 && (until == nil || w.now.Before(until.Time)) {
			w.wrong("switched on while its work is left, at +%s", w.now.Sub(start)) // S4
		}
		if w.oos {
			w.wrong("switched on with the out-of-service taint on")
		}
		w.powerOn()
	}
	return r
}

// outlet is the second level: without it the machine has no supply, and with it
// again the machine starts.
func (w *world) outlet(a fence.Action, r *observed.CallResult) {
	switch {
	case a == fence.Read:
		r.Power = "On"
		if w.dark {
			r.Power = "Off"
		}
	case a == fence.Off:
		w.offs++
		w.say("           PDU: off")
		w.dark, w.on = true, false
	case a == fence.On:
		w.ons++
		w.say("           PDU: on")
		w.dark = false
		w.powerOn()
	}
}

func (w *world) powerOff() {
	switch w.bmc {
	case "ignore", "lie":
	case "slow":
		w.effects = append(w.effects, effect{w.now.Add(6 * time.Second), func() { w.on = false; w.say("           the machine is off at last") }})
	default:
		w.on = false
	}
}

func (w *world) powerOn() {
	if !w.on {
		w.on, w.crashed, w.boot, w.inUse = true, false, w.boot+1, nil
		w.effects = append(w.effects, effect{w.now.Add(20 * time.Second), func() { w.wake(0, "node.healthy") }})
	}
}

package judge

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The promises about calls to devices, in the words of shared/PROMISES.md.
const (
	oneCall      = "S7: at most one call to a device of a node is in flight"
	intentSaved  = "S8: the claim is saved before the device is called, and is checked right before the call"
	noReset      = "S4: there is no reset and no power cycle in one call"
	slotIsHeld   = "S14: a slot is held from the reservation to the release"
	onlyOurs     = "S12: only what we switched off is switched on"
	machineIsOur = "S11: the device is the node's own"
)

// longestClaim is the longest time for which a claim stands.
const longestClaim = 2 * time.Minute

// claimed is a claim of a call, with the write that saved the claim and the write that ended the claim.
type claimed struct {
	*api.Claim
	from *version[api.NodeFence]
	// to is the first later version without the claim; nil if the history has none.
	to *version[api.NodeFence]
}

// listClaims returns the claims of a node's fences for a kind of call, in order.
func listClaims(all versions[api.NodeFence], call api.Call) (found []claimed) {
	same := func(a, b *api.Claim) bool {
		return a != nil && b != nil && a.Holder == b.Holder && a.Call == b.Call && a.At.Equal(&b.At)
	}
	var open *api.Claim
	for i := range all {
		v := &all[i]
		var c *api.Claim
		if v.object != nil {
			c = v.object.Status.Claim
		}
		if same(open, c) {
			continue
		}
		if open != nil && open.Call == call {
			found[len(found)-1].to = v
		}
		if open = c; c != nil && c.Call == call {
			found = append(found, claimed{c, v, nil})
		}
	}
	return found
}

// judgeOffs holds each Off and On against the claims of the node's fences.
func (t *timeline) judgeOffs() {
	for node, told := range t.told {
		used := map[string]*Command{}
		offs, ons := listClaims(t.fences[node], api.CallOff), listClaims(t.fences[node], api.CallOn)
		for _, c := range told {
			switch c.Command {
			case "off":
				t.countOne("Offs")
				t.judgeCall(node, c, offs, used)
			case "on":
				t.countOne("Ons")
				t.judgeCall(node, c, ons, used)
			case "cycle", "reset", "soft", "diag":
				if !t.declares(OthersSwitch, node) {
					t.addBreach(noReset, node, 0, "its BMC is told "+c.Command, c.cite())
				}
			}
		}
		for i := range offs {
			t.judgeClaim(node, &offs[i])
		}
	}
}

// judgeCall finds the claim under which a command came. used has the first command of each claim.
func (t *timeline) judgeCall(node string, c *Command, all []claimed, used map[string]*Command) {
	k := lastCovering(all, c)
	if k == nil && t.precedesLog(node, c) {
		t.leaveOut("commands to the BMC of %s from before the audit log begins, or soon after", node)
		return
	}
	if k == nil {
		if !t.declares(OthersSwitch, node) {
			t.addBreach(intentSaved, node, 0, fmt.Sprintf("its BMC is told %s, and no fence of the node has a claim for that", c.Command), append(nearestClaim(all, c), c.cite())...)
		}
		return
	}
	if c.Command == "on" && !t.mayBeOn(node, c, k) {
		t.addBreach(onlyOurs, node, k.from.object.Status.FenceNumber, "its machine is switched on, and nodefence has not switched it off", k.cite(), c.cite())
	}
	key := k.from.Line.String() + c.Address
	if first := used[key]; first != nil && first.Accepted && c.Accepted && !t.hadFault(c) {
		t.addBreach(oneCall, node, k.from.object.Status.FenceNumber, fmt.Sprintf("its BMC is told %s twice under one claim", c.Command), k.cite(), first.cite(), c.cite())
	} else if first == nil || !first.Accepted {
		used[key] = c
	}
	if b := k.from.object.Status.Decision.Device(k.Device); b != nil && b.Driver == "ipmi" && !slices.Contains(addressesOf(b), c.Address) {
		t.addBreach(machineIsOur, node, k.from.object.Status.FenceNumber, "the claim is for device "+k.Device+" at "+b.Address+", and another one is told "+c.Command, k.cite(), c.cite())
	}
}

// lastCovering returns the last claim under which a command may have come; nil if there is none.
func lastCovering(all []claimed, c *Command) *claimed {
	for i := range slices.Backward(all) {
		if all[i].covers(c) {
			return &all[i]
		}
	}
	return nil
}

// covers reports whether a command came while the claim could be carried out.
func (k *claimed) covers(c *Command) bool {
	if c.Time.Before(k.from.Received) || c.Time.After(k.NotAfter.Add(clockSlack+commandTravels)) {
		return false
	}
	return k.to == nil || !c.Time.After(k.to.Done.Add(commandTravels))
}

func (k *claimed) cite() Cited {
	return k.from.cite(fmt.Sprintf("claim of %s for %s by %s until %s", k.Call, k.Device, k.Holder, k.NotAfter.UTC().Format("15:04:05.000")))
}

// precedesLog reports whether a command may rest on a claim that the audit log does not have: it came before the log
// begins, or soon after, while the log has only later versions of a record that existed before.
func (t *timeline) precedesLog(node string, c *Command) bool {
	all := t.fences[node]
	switch {
	case t.Begins.IsZero() || c.Time.After(t.Begins.Add(longestClaim)):
		return false
	case c.Time.Before(t.Begins):
		return true
	}
	return len(all) > 0 && all[0].Verb != "create" && all[0].Received.After(c.Time)
}

// mayBeOn reports whether an On may be sent: an Off was sent to the machine that no On has answered, a reboot of another
// program is taken over, or the machine is on and lacks a supply.
func (t *timeline) mayBeOn(node string, on *Command, k *claimed) bool {
	owed, sent, seen := false, false, time.Time{}
	for _, c := range t.told[node] {
		switch {
		case !c.Time.Before(on.Time):
		case c.Command == "off":
			owed, sent = true, false
		case c.Controller != on.Controller:
		case c.Command == "on" && c.Accepted:
			sent = true
		case c.Says == "on" && sent && owed:
			owed, seen = false, c.Time
		}
	}
	f := k.from.object
	takenOver := slices.ContainsFunc(f.Status.Decision.Devices, func(b api.Binding) bool { return b.Adopted != nil && b.Adopted.RebootBegun })
	return owed || takenOver || f.Status.Power.SupplyTries > 0 || !seen.IsZero() && t.bootsAnew(node, interval{seen, on.Time})
}

// bootsAnew reports whether a fence found, in a time, that the machine did not boot, and looks at its power again.
func (t *timeline) bootsAnew(node string, within interval) bool {
	return slices.ContainsFunc(t.fences[node], func(v version[api.NodeFence]) bool {
		return v.object != nil && within.has(v.Received) && slices.Contains([]api.Reason{api.BootTimedOut, api.FlowRestarted}, v.object.Status.Reason)
	})
}

// nearestClaim is the last claim before a command.
func nearestClaim(all []claimed, c *Command) []Cited {
	for i := range slices.Backward(all) {
		if all[i].from.Received.Before(c.Time) {
			return []Cited{all[i].cite()}
		}
	}
	return nil
}

// hadFault reports whether the BMC was given a fault before a command: the driver may have to repeat the
// command then.
func (t *timeline) hadFault(c *Command) bool {
	bad := false
	for i := range t.Commands {
		f := &t.Commands[i]
		if f.Controller == c.Controller && f.Command == "" && f.Time.Before(c.Time) {
			bad = f.Fault != "none"
		}
	}
	return bad
}

// judgeClaim holds the claim of an Off against the ledger and the brakes before it.
func (t *timeline) judgeClaim(node string, k *claimed) {
	t.countOne("claims of an Off")
	f := k.from.object
	t.judgeBrakes(node, k)
	led := t.ledger.lastBefore(k.from.Write)
	if led == nil || led.object == nil {
		t.leaveOut("whether the Offs of %s had a slot: the history has no FenceLedger before them", node)
		return
	}
	if t.declares(OthersWrite, node) || slotOf(led.object, f) != nil {
		return
	}
	cited := []Cited{k.cite(), led.cite("the ledger has no slot for the fence")}
	for i := range slices.Backward(t.ledger) {
		if l := &t.ledger[i]; l.object != nil && slotOf(l.object, f) != nil && l.precedes(k.from.Write) {
			cited = append(cited, l.cite("the ledger has a slot for the fence"))
			break
		}
	}
	t.addBreach(slotIsHeld, node, f.Status.FenceNumber, "an Off is claimed without a reservation", cited...)
}

// slotOf returns the slot of a fence; nil if the ledger has none.
func slotOf(l *api.FenceLedger, f *api.NodeFence) *api.Reservation {
	for i := range l.Status.Reservations {
		if r := &l.Status.Reservations[i]; r.FenceUID == f.UID && r.FenceNumber == f.Status.FenceNumber {
			return r
		}
	}
	return nil
}

func (t *timeline) addBreach(promise, node string, fence int64, what string, against ...Cited) {
	slices.SortStableFunc(against, func(a, b Cited) int { return a.At.Compare(b.At) })
	t.Breaches = append(t.Breaches, Breach{promise, node, fence, what, against})
}

// interval is a span of time, with both ends.
type interval struct{ from, to time.Time }

func (w interval) has(at time.Time) bool { return !at.Before(w.from) && !at.After(w.to) }

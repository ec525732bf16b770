package act

import (
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// request is the change that asks this of the fence that f has open.
func request(f *api.NodeFence, p Person, name api.RequestName, extra map[string]any) Change {
	key := strings.ToLower(string(name[:1])) + string(name[1:])
	asks := map[string]any{"fenceNumber": f.Status.FenceNumber, "by": p.Name, "at": p.At}
	if p.Reason != "" {
		asks["reason"] = p.Reason
	}
	for k, v := range extra {
		asks[k] = v
	}
	return Change{
		Resource: "nodefences", Name: f.Name, Asks: name, At: p.At,
		Patch: map[string]any{"metadata": guard(&f.ObjectMeta), "spec": map[string]any{"requests": map[string]any{key: asks}}},
	}
}

// stands says where the fence stands, as the first sentence of each change.
func stands(f *api.NodeFence) string {
	st := &f.Status
	return fmt.Sprintf("Fence %d of node %s, under policy %s, stands in phase %s (%s: %s).", st.FenceNumber, f.Spec.NodeName, st.Decision.Policy.Name, f.CurrentPhase(), st.Reason, st.Message)
}

// open refuses a record without an open fence.
func open(f *api.NodeFence, verb string) error {
	if !f.Open() {
		return nothingToDo(f.Name, fmt.Sprintf("no fence is open, so there is nothing to %s", verb))
	}
	return nil
}

// Approve lets a fence begin that its policy holds for a person.
func Approve(f *api.NodeFence, p Person) (Change, error) {
	if err := open(f, "approve"); err != nil {
		return Change{}, err
	}
	st := &f.Status
	if st.Decision.Settings.Mode != api.ModeRequireApproval && st.WaitsFor != api.WaitsForApproval {
		return Change{}, nothingToDo(f.Name, fmt.Sprintf("its fence waits for no approval: policy %s is in mode %s", st.Decision.Policy.Name, st.Decision.Settings.Mode))
	}
	c := request(f, p, api.AskedApprove, nil)
	c.Says = append([]string{stands(f)}, approved(f, p.At.Time)...)
	c.rests = []any{st.Decision.Policy, st.Decision.Settings.Action, st.Decision.Devices}
	c.Done = fmt.Sprintf("fence %d of node %s approved by %s", st.FenceNumber, f.Name, p.Name)
	return c, nil
}

// Abort ends a fence that has not cut power, and stops further Offs of one that has.
func Abort(f *api.NodeFence, p Person) (Change, error) {
	if err := open(f, "abort"); err != nil {
		return Change{}, err
	}
	st := &f.Status
	c := request(f, p, api.AskedAbort, nil)
	c.Says = []string{stands(f), "No power was cut: the fence ends, its marks are removed from the node, and this failure opens no other fence."}
	if st.CutOrReleased || st.Power.OffCalls > 0 {
		c.Says[1] = "Power was cut, or work released: no further Off is sent, and what was begun is proven, released and recovered. The machine is not left half fenced."
	}
	c.Done = fmt.Sprintf("fence %d of node %s: abort asked for by %s", st.FenceNumber, f.Name, p.Name)
	return c, nil
}

// waiting are the reasons for which a retry reads the device now.
var waiting = map[api.Reason]bool{api.WaitingForDevice: true, api.DeviceDenied: true}

// Retry starts a fence once more that was given up, reads a device now that is awaited, or has a machine
// switched on again that was left off.
func Retry(f *api.NodeFence, p Person) (Change, error) {
	if err := open(f, "retry"); err != nil {
		return Change{}, err
	}
	st := &f.Status
	c := request(f, p, api.AskedRetry, nil)
	c.Says = []string{stands(f), "The fence starts once more, with the policies, ConfigMaps and Secrets of now, and may cut the machine's power again."}
	switch phase := f.CurrentPhase(); {
	case st.Awaited != nil || waiting[st.Reason]:
		c.Says[1] = "Its device is read now, instead of when its turn comes."
	case phase == api.Fenced && st.Power.SwitchedByUs:
		c.Says[1] = "The machine is switched on again."
	case phase == api.Fenced:
		c.Says[1] = "It was not nodefence that switched the machine off: nodefence will answer NotNeeded, and nothing changes."
	case phase != api.Failed:
		c.Says[1] = "The fence was not given up: nodefence will answer NotNeeded, and nothing changes."
	}
	c.Done = fmt.Sprintf("fence %d of node %s: retry asked for by %s", st.FenceNumber, f.Name, p.Name)
	return c, nil
}

// Lift gives a node back that its policy keeps isolated.
func Lift(f *api.NodeFence, p Person) (Change, error) {
	if err := open(f, "lift"); err != nil {
		return Change{}, err
	}
	st := &f.Status
	if st.Decision.Settings.Recovery.Uncordon != api.UncordonManual {
		return Change{}, nothingToDo(f.Name, fmt.Sprintf("policy %s gives it back by itself (recovery.uncordon: Automatic), once it has been healthy for %s", st.Decision.Policy.Name, st.Decision.Settings.Recovery.ReadyDuration.Duration))
	}
	c := request(f, p, api.AskedUncordon, nil)
	c.Says = []string{stands(f), "The node gets its taint and cordon removed once it is healthy, and takes new pods."}
	if f.CurrentPhase() != api.Recovering {
		c.Says[1] = "The node is not kept isolated by its policy now: nodefence will answer NotNeeded, and nothing changes."
	}
	c.Done = fmt.Sprintf("node %s: to be given back, asked for by %s", f.Name, p.Name)
	return c, nil
}

// ConfirmOff is a person's word that the machine is off.
func ConfirmOff(f *api.NodeFence, p Person, as api.OutOfServiceValue) (Change, error) {
	if err := open(f, "confirm"); err != nil {
		return Change{}, err
	}
	st := &f.Status
	if m := st.Decision.Trigger.Machine; st.Decision.Trigger.OnlyMachine() {
		return Change{}, nothingToDo(f.Name, "its fence is of Machine "+m.String()+", which has no node: it is deleted, and no machine is confirmed off")
	}
	extra := map[string]any{}
	if as != "" {
		extra["outOfServiceValue"] = as
	}
	c := request(f, p, api.AskedConfirmOff, extra)
	c.Says = []string{
		stands(f),
		"You say that the machine of this node is off. nodefence reads each power device of the machine first: a device that reads on refuses your word, and so does a Lease that moves. " + lastRead(f),
		"Its pods and volumes are then released, and start elsewhere. IF THE MACHINE IS ON, DATA IS LOST.",
	}
	if !HearsConfirm(f) {
		c.Says = []string{stands(f), "Nothing waits for your word that the machine is off: nodefence will answer NotNeeded, and nothing changes."}
	}
	pw := &st.Power // a machine that was cut, or switched on, since is another than they saw
	c.rests = []any{st.Phase, st.PhaseSince, pw.Cuts, pw.CutAt, pw.OffAt, pw.OnAt}
	c.Done = fmt.Sprintf("%s confirmed that the machine of node %s is off (fence %d)", p.Name, f.Name, st.FenceNumber)
	return c, nil
}

// lastRead is what nodefence read last of the machine's power, in a sentence.
func lastRead(f *api.NodeFence) string {
	d := facts.Facts{Decision: &f.Status.Decision, Record: &f.Status}
	b, r := d.Binding(), f.Status.Power.LastRead
	switch {
	case b == nil && f.Status.Decision.Settings.Action.Reads():
		return "No device is bound to it for power."
	case b == nil:
		return "Its policy has no device read: nodefence looks for a binding now."
	case r == nil || r.State == api.PowerUnknown:
		return "Nothing of its power is known from " + b.Words() + " now."
	}
	says := map[api.PowerState]string{api.PoweredOn: "on", api.PoweredOff: "off"}[r.State]
	return "The last read of " + b.Words() + ", at " + r.At.UTC().Format(time.RFC3339) + ", says " + says + "."
}

// HearsConfirm tells whether the fence waits for a person's word that the machine is off, or will.
func HearsConfirm(f *api.NodeFence) bool {
	st := f.Status
	st.Phase = f.CurrentPhase()
	return (&facts.Facts{Decision: &st.Decision, Record: &st}).HearsConfirm()
}

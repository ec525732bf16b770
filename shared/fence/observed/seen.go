package observed

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Look is one look: everything outside the record that a decision may rest on.
// A part that was not looked at stays at its zero value, and no guard takes a
// zero value for good news.
type Look struct {
	// Me names this invocation; a claim with another holder is another's (S7).
	Me string
	// HandsOver: what is decided now is handed to the next invocation, which carries it out
	// without another look.
	HandsOver bool
	Node      Node
	Lease     Lease
	// Call is the device call that this invocation has just ended, if it made one.
	Call *CallResult
	// Brakes say what stops new Offs.
	Brakes Brakes
	// Machine is that of this very Node, where the policy has it fenced on its account
	// now; nil if there is none. MachineLooked: somebody looked.
	Machine       *api.FailedMachine
	MachineLooked bool
	// Reserved is when the ledger's reservation for this fence was made, and ReservedCall the
	// longest device call for which it was; zero is the usual one.
	Reserved     *time.Time
	ReservedCall time.Duration
	// DryRun is what the ledger has reserved for this fence under mode DryRun; nil if nothing.
	DryRun *DryRun
	// DryChecks: this invocation has just asked, and one round of checks might begin under Enforce.
	DryChecks bool
	// Verdict is the gate's no to a reservation asked for in this invocation, or looked for before the
	// devices are resolved.
	Verdict *Verdict
	// Resolved: this invocation has just resolved the device binding, or failed to.
	Resolved bool
	// Checked is what the checks asked by this invocation have said so far.
	Checked *Checked
	// Cleared: this invocation has just removed the out-of-service taint, for the
	// record as it stands, and in such a way that one which another invocation was
	// about to place before that fails.
	Cleared bool
	// Dump is what is heard of the machine's memory dump; nil if nothing is.
	Dump *Dump
	// MayDrain: this invocation has just asked, and all that bounds a fence lets this one drain its
	// node now. Nothing is reserved by that. DrainAsked is when it asked; zero for just now.
	MayDrain   bool
	DrainAsked time.Time
	// MayCheck: this invocation has just asked, and one round of checks may begin. No check of it has
	// begun since.
	MayCheck bool
	// Draining is what of the node's work has still to leave it; nil if not looked at.
	Draining *Draining
	// Evicted is what came of it that this invocation asked pods to leave; nil if it asked none.
	Evicted *Evicted
	// Left is what of the node is still to be released; nil if not looked at.
	Left *Left
	// Report is the FenceReport that has the name of this fence's; nil if there is none, or nobody has looked.
	Report *Report
	// Deleting: the NodeFence is being deleted, which asks for its end (S27).
	Deleting bool
	// Finalizer: ours is still on the NodeFence.
	Finalizer bool
	// Self: this code runs on the node in question (S13).
	Self bool
}

// DryRun is a dry reservation of the ledger.
type DryRun struct {
	// At is when it was made.
	At time.Time
	// Drain: the node would be drained first.
	Drain bool
}

// Plans are what people and other programs say on the Node object that they do with the node, each in words; empty if
// nobody says so. Package hold alone decides by them.
type Plans struct {
	// Excluded and Deleting say why the node is left alone: somebody
	// excluded it, or something is about to delete it.
	Excluded, Deleting string
	// Rebooting says who reboots the machine on purpose, and by which mark.
	Rebooting string
}

// Node is how the API server has the node.
type Node struct {
	Exists bool
	UID    types.UID
	// Version is the object's resourceVersion at this look: what is placed on the
	// node is placed on it as it was looked at, or not at all.
	Version string
	BootID  string
	// BootIDShared: another Node has the same boot ID, as containers and cloned images do. Only a look that may
	// refute a power cut asks (fence.Doubts).
	BootIDShared bool
	// Heartbeat is the lastHeartbeatTime of condition Ready. It changes each time that the kubelet writes the Node's
	// status, and is compared only with itself (S30); empty if Ready has none.
	Heartbeat  string
	Conditions []Condition
	// ControlPlane nodes are fenced only by the rule of quorum (S13). ControlPlaneMark is the label,
	// the taint or the static pod by which the node counts as one, in words. Of the static pods only
	// the gate and the plan know.
	ControlPlane     bool
	ControlPlaneMark string
	Plans
	// Labels are the node's own, which anybody with rights on it may write: they
	// choose policies and domains, never a machine (S11).
	Labels map[string]string
	// Terminating: the object itself is being deleted, and something still holds it.
	Terminating bool
	// Taint: our isolation taint of this very fence is on it.
	Taint bool
	// Cordoned: spec.unschedulable; CordonOurs: nodefence was the last to set it.
	Cordoned, CordonOurs bool
	// OutOfService: our out-of-service taint is on it; Foreign: one of another value.
	OutOfService, OutOfServiceForeign bool
	// ScaleDownOurs: a word against its deletion by an autoscaler is nodefence's.
	ScaleDownOurs bool
	// VolumesInUse are what the kubelet says that it has attached and mounted.
	VolumesInUse []string
}

// Condition is one node condition.
type Condition struct {
	Type, Status, Reason string
	Since                time.Time
	// Mark changes each time that somebody writes the condition anew: it is made of the condition's own
	// times, and compared only with itself (S30).
	Mark string
}

// Said returns the condition as a record keeps it.
func (c Condition) Said() api.SaidCondition {
	return api.SaidCondition{Type: c.Type, Status: c.Status, Mark: c.Mark}
}

// Ready tells whether the node's Ready condition is True.
func (n Node) Ready() bool {
	for _, c := range n.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// KubeletSays tells whether the node's kubelet was the last to write condition Ready: a controller that does not hear of
// the kubelet writes Unknown.
func (n Node) KubeletSays() bool {
	for _, c := range n.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" || c.Status == "False"
		}
	}
	return false
}

// Lease is the node's Lease. Renewed is a mark to be compared with itself only (S30).
type Lease struct {
	Exists  bool
	Renewed string
	// Renewal is the time between two renewals: a quarter of the Lease's duration.
	Renewal time.Duration
	// StillSince is since when the source saw it stand at Renewed; zero if it
	// says nothing about it.
	StillSince time.Time
}

// CallResult is how a device call of this invocation ended.
type CallResult struct {
	Call api.Call
	// Power, Identity: a read's answer. Empty power is unknown.
	Power, Identity string
	// MissingSupply says what of the power is not seen on though the machine reads on.
	MissingSupply string
	// At is from before the call.
	At time.Time
	// NotMade: the call was claimed, and was not made: it had waited for too long for its turn.
	NotMade bool
	// Err in words, without secrets; empty if the call came back well.
	Err string
	// Stopping: the machine is on its way off, whoever switched it; power is unknown.
	Stopping bool
	// Wrong: the device answered for another machine than the one bound (S11).
	Wrong bool
	// Why is the reason of an error that has one of its own; empty for any other.
	Why api.Reason
	// Refused: the device said no to an Off or On, so that nothing of it was done.
	Refused bool
	// Denied: the device refused the account, as for a wrong password.
	Denied bool
	// Credentials is the version of what the account was read from, if it was refused before;
	// empty if it is not known.
	Credentials string
	// Whose is the node that was enrolled as the machine that answered, where that is
	// another one than the one bound; empty if none was.
	Whose string
	// Jobs are those in which an agent ran for it.
	Jobs []string
	// Blind: the device has no access to tell of, as it has none of a machine that it
	// never knew. Power is unknown.
	Blind bool
	// Late is how late, from when it came back, an Off or On takes effect at most, where
	// all that carried it out was seen to end and said that it was done; nil where that is
	// not known, and the device's longest effect delay stands.
	Late *time.Duration
}

// Brakes stop new fences and further Offs, never what was begun (S25).
type Brakes struct {
	// Looked: somebody read them. Brakes that were not read are not off.
	Looked                 bool
	Stopped, Paused, Storm bool
	// Why is what stopped it, if not the ledger's switch.
	Why     api.Reason
	Message string
	// Windows are the pause windows of the node's policies; they stop what
	// was not begun, and no further Off.
	Windows []policy.Windows
	// Zones are those that the windows name.
	Zones policy.Zones
	// Stricter: the policies as they stand allow less than this fence was admitted
	// under. Unmark: nothing of ours is to stay on the node meanwhile.
	Stricter, Unmark bool
	// Gone: no policy selects the node, and nothing was begun.
	Gone bool
	// Changed: the policies are not those that the record rests on.
	Changed bool
	// Unwatched says why nobody can tell from the ledger that the API server's state did
	// not go back a moment ago: its picture of the Leases is not of now. It is empty if
	// the picture is.
	Unwatched string
	// Ended says who has ended cool-downs that would still be under way, and why; empty if nobody has.
	Ended string
	// Lost says who has said that the node is lost and its machine off, and why it is lost; empty if nobody has.
	Lost string
	// Counted: all that was asked before the slot was reserved was asked again for this
	// look. Without that nothing is cut.
	Counted bool
}

// Verdict is the gate's refusal, with its numbers (S28).
type Verdict struct {
	Reason  api.Reason
	Message string
	// Again is how long until it is worth asking again.
	Again time.Duration
}

// Checked is what the checks of one round have said so far.
type Checked struct {
	// Storage: it is the round of the storage check.
	Storage bool
	// Round is its number.
	Round   int32
	Results []api.CheckResult
}

// Report is a FenceReport.
type Report struct {
	// Digest is that of its content.
	Digest string
}

// Hold says why nothing may begin now, whatever else is seen; empty if nothing holds.
// Brakes that were not looked at hold.
func (b Brakes) Hold(now time.Time) string {
	if !b.Looked {
		return "the brakes were not looked at"
	}
	if b.Stopped || b.Paused || b.Storm || b.Stricter || b.Gone {
		return b.Message
	}
	if c := policy.Closed(b.Windows, b.Zones, now); c != nil {
		return c.Message
	}
	return ""
}

// Dump is what the listener has written down of a node's messages. Its times are
// by the API server's clock (S30).
type Dump struct {
	// NodeUID is the node that had the messages' source address.
	NodeUID types.UID
	// BootID is the boot that it had when the first of them came.
	BootID      string
	First, Last time.Time
	Source      string
	Count       int64
}

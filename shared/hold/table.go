package hold

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// table has the holds in the order in which they answer.
var table = []Row{
	{Reason: api.PolicyNotUnderstood, Group: ByPolicy, When: tellNotUnderstood, Unsure: true, Permanent: true, HostHA: api.HostHADisabled, Again: facts.Resync},
	{Reason: api.PolicyConflict, Group: ByPolicy, When: tellConflict, Unsure: true, Permanent: true, HostHA: api.HostHAIneligible, Again: facts.Resync},
	{Reason: api.ControlPlaneNode, Group: ByPolicy, When: tellSpared, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHADisabled, CutOnly: true, Again: facts.Resync}, // S13
	{Reason: api.Excluded, Group: ByPolicy, When: tellExcluded, Unmark: true, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHAIneligible, Again: facts.Resync},
	{Reason: api.NodeBeingDeleted, Group: ByNode, When: tellDeletion, Again: facts.Resync},
	{Reason: api.OwnMachine, Group: ByNode, When: tellOwnMachine, Again: facts.Handover},             // S13
	{Reason: api.CutRefuted, Group: ByNode, When: tellRefuted, Permanent: true, Again: facts.Resync}, // S1
	{Reason: api.RebootUnderWay, Group: ByNode, When: tellReboot, Again: facts.Resync},
	{Reason: api.DryRun, Group: ByMode, When: tellDryRun, Unmark: true, Exempt: true, HostHA: api.HostHADisabled, Again: facts.Resync},
	{Reason: api.WaitingForApproval, Group: ByMode, When: tellUnapproved, Again: facts.Resync},
}

func tellNotUnderstood(in Input) string { return in.NotUnderstood }

// tellConflict says which two policies of one precedence select the node, and what ends the conflict.
func tellConflict(in Input) string {
	p := in.Policy
	if p.Settings.Conflict == "" {
		return ""
	}
	return fmt.Sprintf("policies %s and %s have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it", p.Policy.Name, p.Settings.Conflict)
}

// tellSpared says that a policy never fences nodes of the control plane, and by which mark the node counts as one.
func tellSpared(in Input) string {
	if !in.Policy.Spares(in.Node.ControlPlane) {
		return ""
	}
	words, mark := facts.DecidingPolicy(in.Policy)+" never fences control-plane nodes (controlPlane.fence: Never)", in.Node.ControlPlaneMark
	if by := in.Policy.Settings.ControlPlane.SelectedBy; by != "" && mark == "" {
		mark = "spec.controlPlane.nodeSelector of policy " + by
	}
	if mark != "" {
		words += "; the node counts as one by " + mark
	}
	return words
}

func tellExcluded(in Input) string { return in.Policy.LeftAlone(in.Node.Excluded) }

// tellDeletion gives way to a person's word that the machine is off: the word touches no machine.
func tellDeletion(in Input) string {
	if in.SaidOff {
		return ""
	}
	return in.Node.Deleting
}

func tellOwnMachine(in Input) string {
	if !in.Self {
		return ""
	}
	return "nodefence runs on this node; another replica must fence it"
}

// tellRefuted gives way to a person's word that the machine is off, which cuts nothing, and for which no read of off is
// taken. A policy whose action reads no device has nothing to believe.
func tellRefuted(in Input) string {
	if in.Refuted == nil || in.SaidOff || !in.Policy.Settings.Action.Reads() {
		return ""
	}
	return in.Refuted.Words()
}

// tellReboot holds for a bounded time: the machine has as long as its policy gives it to boot after a fence. A fence that
// a user has asked for, and a person's word, do not wait.
func tellReboot(in Input) string {
	most := in.Policy.Settings.Recovery.BootTimeout.Duration
	if in.Node.Rebooting == "" || in.Asked || in.SaidOff {
		return ""
	}
	if in.FailedAt.IsZero() {
		return fmt.Sprintf("%s: if it fails, it has %s to come back (recovery.bootTimeout)", in.Node.Rebooting, most)
	}
	until := in.FailedAt.Add(most)
	if !in.Now.Before(until) {
		return ""
	}
	return fmt.Sprintf("%s: it has until %s to come back, %s after it failed (recovery.bootTimeout)", in.Node.Rebooting, until.UTC().Format(time.RFC3339), most)
}

func tellDryRun(in Input) string {
	if in.Policy.Settings.Mode != api.ModeDryRun {
		return ""
	}
	return "this node would be fenced now; " + facts.DecidingPolicy(in.Policy) + " is in DryRun"
}

func tellUnapproved(in Input) string {
	if in.Policy.Settings.Mode != api.ModeRequireApproval || in.Approved || in.SaidOff {
		return ""
	}
	return "a person must approve (spec.requests.approve)"
}

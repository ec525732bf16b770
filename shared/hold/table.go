package hold

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// table has the holds in the order in which they answer.
var table = []Row{
	{Reason: api.PolicyNotUnderstood, Group: ByPolicy, When: notUnderstood, Unsure: true, Permanent: true, HostHA: api.HostHADisabled, Again: facts.Resync},
	{Reason: api.PolicyConflict, Group: ByPolicy, When: conflict, Unsure: true, Permanent: true, HostHA: api.HostHAIneligible, Again: facts.Resync},
	{Reason: api.ControlPlaneNode, Group: ByPolicy, When: spared, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHADisabled, CutOnly: true, Again: facts.Resync}, // S13
	{Reason: api.Excluded, Group: ByPolicy, When: excluded, Unmark: true, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHAIneligible, Again: facts.Resync},
	{Reason: api.NodeBeingDeleted, Group: ByNode, When: deleting, Again: facts.Resync},
	{Reason: api.OwnMachine, Group: ByNode, When: ownMachine, Again: facts.Handover}, // S13
	{Reason: api.DryRun, Group: ByMode, When: dryRun, Unmark: true, Exempt: true, HostHA: api.HostHADisabled, Again: facts.Resync},
	{Reason: api.WaitingForApproval, Group: ByMode, When: unapproved, Again: facts.Resync},
}

func notUnderstood(in Input) string { return in.NotUnderstood }

// conflict says which two policies of one precedence select the node, and what ends the conflict.
func conflict(in Input) string {
	p := in.Policy
	if p.Settings.Conflict == "" {
		return ""
	}
	return fmt.Sprintf("policies %s and %s have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it", p.Policy.Name, p.Settings.Conflict)
}

// spared says that a policy never fences nodes of the control plane, and by which mark the node counts as one.
func spared(in Input) string {
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

func excluded(in Input) string { return in.Policy.LeftAlone(in.Node.Excluded) }

// deleting gives way to a person's word that the machine is off: the word touches no machine.
func deleting(in Input) string {
	if in.SaidOff {
		return ""
	}
	return in.Node.Deleting
}

func ownMachine(in Input) string {
	if !in.Self {
		return ""
	}
	return "nodefence runs on this node; another replica must fence it"
}

func dryRun(in Input) string {
	if in.Policy.Settings.Mode != api.ModeDryRun {
		return ""
	}
	return "this node would be fenced now; " + facts.DecidingPolicy(in.Policy) + " is in DryRun"
}

func unapproved(in Input) string {
	if in.Policy.Settings.Mode != api.ModeRequireApproval || in.Approved || in.SaidOff {
		return ""
	}
	return "a person must approve (spec.requests.approve)"
}

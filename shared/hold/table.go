package hold

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// table has the holds in the order in which they answer.
var table = []Row{
	{
		Reason: api.PolicyNotUnderstood, Group: ByPolicy, When: tellNotUnderstood, Unsure: true, Permanent: true, HostHA: api.HostHADisabled, Again: facts.Resync,
		Means:  "a FencePolicy, a FenceBudget or the FenceLedger has a field or a value that this nodefence does not know or can't read, or lacks a required field: it may be a brake",
		Remedy: Remedy{Do: "upgrade nodefence, or take out or correct the field in the message"},
		Docs:   "infra/BRAKES.md",
	},
	{
		Reason: api.PolicyConflict, Group: ByPolicy, When: tellConflict, Unsure: true, Permanent: true, HostHA: api.HostHAIneligible, Again: facts.Resync,
		Means:  "two policies of one precedence select the node",
		Remedy: Remedy{Do: "give one of the policies in the message another spec.precedence, or selectors that do not both select the node", Run: "kubectl get fencepolicies"},
		Docs:   "infra/crd/POLICY.md#which-policy",
	},
	{ // S13
		Reason: api.ControlPlaneNode, Group: ByPolicy, When: tellSpared, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHADisabled, CutOnly: true, Again: facts.Resync,
		Means:  "the policy never fences control-plane nodes",
		Remedy: Remedy{Do: "set controlPlane.fence to WithQuorum in the policy, if control-plane nodes are to be fenced", Run: "kubectl edit fencepolicy POLICY"},
		Docs:   "functions/gate/QUORUM.md",
	},
	{
		Reason: api.Excluded, Group: ByPolicy, When: tellExcluded, Unmark: true, Permanent: true, Intended: true, Exempt: true, HostHA: api.HostHAIneligible, Again: facts.Resync,
		Means:  "the policy, a label or a taint leaves the node alone",
		Remedy: Remedy{Do: "take away what the message names, if the node is to be fenced"},
		Docs:   "infra/crd/POLICY.md#which-policy",
	},
	{
		Reason: api.NodeBeingDeleted, Group: ByNode, When: tellDeletion, Again: facts.Resync,
		Means:  "an autoscaler, or the manager of its Machine, is about to delete the node",
		Remedy: Remedy{Do: "wait until the node is deleted, or stop that deletion"},
		Docs:   "functions/gate/MACHINES.md#a-machine-that-is-being-deleted",
	},
	{ // S13
		Reason: api.OwnMachine, Group: ByNode, When: tellOwnMachine, Again: facts.Handover,
		Means:  "nodefence runs on this node, and does not fence itself",
		Remedy: Remedy{Do: "wait: another replica of nodefence fences this node"},
	},
	{ // S1
		Reason: api.CutRefuted, Group: ByNode, When: tellRefuted, Permanent: true, Again: facts.Resync,
		Means:  "a power cut of the node was none: its device read off twice, and then the node came back under the boot ID of before, so that two writers may have run. No read of off is believed, and no fence begins, until a person has looked. Also the end of that fence",
		Remedy: Remedy{Do: "check the work that was moved, find out why the device said off, and say so; if the node fails meanwhile, see to it that its machine is off (kubectl fence confirm-off NODE)", Run: `kubectl fence trust NODE --reason "…"`},
		Docs:   "infra/observability/README.md#nodefencecutrefuted",
	},
	{
		Reason: api.RebootUnderWay, Group: ByNode, When: tellReboot, Again: facts.Resync,
		Means:  "kured or OpenShift says that it reboots the machine, and the time to come back (`recovery.bootTimeout`, from the opening of the fence on) is not over",
		Remedy: Remedy{Do: "wait until the machine is back, or until the time in the message; or ask for the fence, if it died in its reboot", Run: `kubectl fence ask NODE --reason "…"`},
		Docs:   "infra/WITHOPERATORS.md#planned-reboots",
	},
	{
		Reason: api.DryRun, Group: ByMode, When: tellDryRun, Unmark: true, Exempt: true, HostHA: api.HostHADisabled, Again: facts.Resync,
		Means:  "the policy is in `mode: DryRun`, and the message says what it would do in `mode: Enforce`: begin, check or drain the node first, or hold the fence, with the reason and its numbers",
		Remedy: Remedy{Do: "have the policy act, if this node is to be fenced", Run: `kubectl patch fencepolicy POLICY --type merge -p '{"spec":{"mode":"Enforce"}}'`},
		Docs:   "infra/BRAKES.md",
	},
	{
		Reason: api.WaitingForApproval, Group: ByMode, When: tellUnapproved, Again: facts.Resync,
		Means:  "the policy is in `mode: RequireApproval`, or only reported problems ask for the fence (`action: Ask`)",
		Remedy: Remedy{Do: "look at the node; then approve the fence, or end it (kubectl fence abort NODE)", Run: "kubectl fence approve NODE"},
	},
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

// tellReboot holds for a bounded time: the machine has as long as its policy gives it to boot after a fence. The time
// begins with the fence, and not with what the node says of itself. A fence that a person has asked for, and a person's
// word, do not wait. A fence that another program asks for does: the program sees the reboot as a failure too.
func tellReboot(in Input) string {
	most := in.Policy.Settings.Recovery.BootTimeout.Duration
	if in.Node.Rebooting == "" || in.Asked || in.SaidOff {
		return ""
	}
	if in.OpenedAt.IsZero() {
		return fmt.Sprintf("%s: if it fails, it has %s to come back (recovery.bootTimeout)", in.Node.Rebooting, most)
	}
	bound := "recovery.bootTimeout"
	if limit := api.RequestValidity - requestMargin; in.OnlyAsked && limit < most {
		most, bound = limit, "before the request for the fence is too old"
	}
	until := in.OpenedAt.Add(most)
	if !in.Now.Before(until) || observed.Ahead(in.OpenedAt, in.Now) {
		return "" // a clock that was set back prolongs nothing
	}
	return fmt.Sprintf("%s: it has until %s to come back, %s after the fence was opened (%s)", in.Node.Rebooting, until.UTC().Format(time.RFC3339), most, bound)
}

// requestMargin is the time in which a fence begins that a request alone asks for, after a reboot that has failed. A
// request that grew old in the hold would be made anew and held anew, for ever.
const requestMargin = 2 * facts.Resync

func tellDryRun(in Input) string {
	if in.Policy.Settings.Mode != api.ModeDryRun {
		return ""
	}
	return facts.DecidingPolicy(in.Policy) + " is in DryRun"
}

func tellUnapproved(in Input) string {
	if in.Policy.Settings.Mode != api.ModeRequireApproval || in.Approved || in.SaidOff {
		return ""
	}
	return "a person must approve (spec.requests.approve)"
}

package v1alpha1

import "slices"

// WaitsFor is what a fence waits for that others can give: a reason is for people, and what is done
// goes by this.
// +kubebuilder:validation:Enum=Slot;Budget;Policies;Approval;Uncordon;CoolDown;Dump;Checks;CheckTurn;OtherReplica
type WaitsFor string

// What a fence waits for.
const (
	// WaitsForSlot: other fences have all slots of a limit.
	WaitsForSlot WaitsFor = "Slot"
	// WaitsForBudget: other nodes of a FenceBudget are unavailable.
	WaitsForBudget WaitsFor = "Budget"
	// WaitsForPolicies: a policy was changed, and all policies are read before the fence goes on.
	WaitsForPolicies WaitsFor = "Policies"
	// WaitsForApproval: a person approves the fence.
	WaitsForApproval WaitsFor = "Approval"
	// WaitsForUncordon: a person uncordons the node.
	WaitsForUncordon WaitsFor = "Uncordon"
	// WaitsForCoolDown: the time after a storm is over, or a person ends it.
	WaitsForCoolDown WaitsFor = "CoolDown"
	// WaitsForDump: the machine has written the kernel dump.
	WaitsForDump WaitsFor = "Dump"
	// WaitsForChecks: activity checks have answered.
	WaitsForChecks WaitsFor = "Checks"
	// WaitsForCheckTurn: Jobs of other fences' checks end, or the limit of those Jobs is raised.
	WaitsForCheckTurn WaitsFor = "CheckTurn"
	// WaitsForOtherReplica: a replica of nodefence on another node goes on with the fence.
	WaitsForOtherReplica WaitsFor = "OtherReplica"
)

// OneOf reports whether the fence waits for one of the given values.
func (w WaitsFor) OneOf(any ...WaitsFor) bool { return slices.Contains(any, w) }

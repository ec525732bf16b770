package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// waits maps the reason for which a fence stands where it stands to what it waits for, where others can
// give that. tell writes both.
var waits = map[api.Reason]api.WaitsFor{
	api.TooManyConcurrent:  api.WaitsForSlot,
	api.BudgetExhausted:    api.WaitsForBudget,
	api.PolicyChanged:      api.WaitsForPolicies,
	api.WaitingForApproval: api.WaitsForApproval,
	api.WaitingForUncordon: api.WaitsForUncordon,
	api.StormCoolDown:      api.WaitsForCoolDown,
	api.KdumpUnderWay:      api.WaitsForDump,
	api.CheckingActivity:   api.WaitsForChecks,
	api.StorageUnreachable: api.WaitsForChecks,
}

package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// waits maps a fence's reason to the wait of the fence, where others can end the wait. tell writes both.
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
	api.TooManyChecks:      api.WaitsForCheckTurn,
	api.OwnMachine:         api.WaitsForOtherReplica,
}

package far

// Unchangeable is what an object says whose finalizer the API server refuses to add, or to remove,
// because a webhook does not answer.
func Unchangeable(webhook string, hold bool) Event {
	e := Event{Warning: true, Reason: remediationStopped, Message: "the object can't go: the API server refuses to remove its finalizer"}
	if hold {
		e.Reason, e.Message = remediationCannotStart, "no fence is asked for: the API server refuses to add the object's finalizer"
	}
	e.Message += ", because webhook " + webhook + " does not answer. If Fence Agents Remediation was stopped, delete its webhook configurations (functions/adopt/FAR.md, Move over)"
	return e
}

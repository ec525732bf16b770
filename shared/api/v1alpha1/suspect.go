package v1alpha1

// The trigger of a fence that opens for a Lease that stands still. No node
// condition can have this status.
const (
	LeaseCondition = "Lease"
	LeaseStill     = "Still"
)

// Suspicion tells whether a still Lease is all that this fence opened for.
func (t Trigger) Suspicion() bool {
	return t.Condition == LeaseCondition && t.Status == LeaseStill
}

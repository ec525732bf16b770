package v1alpha1

// The trigger of a fence of a node that was never Ready since it was created. No
// node condition can have this status.
const (
	StartupCondition = "Startup"
	StartupTimedOut  = "TimedOut"
)

// Startup tells whether this fence opened for a node that never became Ready.
func (t Trigger) Startup() bool {
	return t.Condition == StartupCondition && t.Status == StartupTimedOut
}

package events

// The ticks of a platform's clock. Nodefence sends neither, so Types does not list
// them.
const (
	// Ping is what Knative's PingSource sends.
	Ping = "dev.knative.sources.ping"
	// Scheduled is what a scheduled rule of EventBridge becomes on Lambda. It is
	// of nodefence's own, because any type that is not may ask for a fence.
	Scheduled = internalPrefix + "scheduled" + version
)

// IsTick tells whether an event of this type is a clock's tick.
func IsTick(eventType string) bool { return eventType == Ping || eventType == Scheduled }

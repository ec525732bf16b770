package events

// The ticks of a platform's clock. Nodefence does not send them, so Types does not list
// them.
const (
	// Ping is the type that Knative's PingSource sends.
	Ping = "dev.knative.sources.ping"
	// Scheduled is the type of a scheduled EventBridge rule on Lambda. It is nodefence's
	// own type, because any foreign type may ask for a fence.
	Scheduled = internalPrefix + "scheduled" + version
)

// IsTick reports whether an event of this type is a clock's tick.
func IsTick(eventType string) bool { return eventType == Ping || eventType == Scheduled }

package events

// What wakes the second waker. Nodefence sends neither, so Types does not list
// them.
const (
	// Ping is what Knative's PingSource sends.
	Ping = "dev.knative.sources.ping"
	// Scheduled is what a scheduled rule of EventBridge becomes on Lambda. It is
	// of nodefence's own, because any type that is not may ask for a fence.
	Scheduled = internalPrefix + "scheduled" + version
)

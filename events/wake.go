package events

// What wakes the second waker. Both are other systems' own: nodefence sends
// neither, so Types does not list them.
const (
	// Ping is what Knative's PingSource sends.
	Ping = "dev.knative.sources.ping"
	// Scheduled is a scheduled rule of EventBridge, as shared/run/lambda reads it.
	Scheduled = "com.amazonaws.events.scheduled"
)

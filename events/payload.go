package events

// Payload is the body of every event: the reference again, and details for a person who
// reads the event. No function decides by it.
type Payload struct {
	Node string `json:"node"`
	// NodeUID tells two nodes of one name apart.
	NodeUID string `json:"nodeUID,omitempty"`
	// Fence is the NodeFence's UID; FenceNumber says which fence of the node it is.
	Fence       string `json:"fence,omitempty"`
	FenceNumber int64  `json:"fenceNumber,omitempty"`
	Phase       string `json:"phase,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	// Condition, Status, Since: the node condition that changed (RFC 3339).
	Condition string `json:"condition,omitempty"`
	Status    string `json:"status,omitempty"`
	Since     string `json:"since,omitempty"`
	// Namespace, Name and UID are those of the FenceRequest that has changed.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	// Pod is the namespace/name of the Pod that the problem is about, if it is about a Pod.
	Pod string `json:"pod,omitempty"`
	// Component reported a problem, Count times from First to Last (RFC 3339, by the
	// reporter's clock).
	Component string `json:"component,omitempty"`
	Count     int64  `json:"count,omitempty"`
	First     string `json:"first,omitempty"`
	Last      string `json:"last,omitempty"`
	// Due is when the fence was due to be looked at again (RFC 3339); for a problem, the
	// time of the resync that sent the report again.
	Due string `json:"due,omitempty"`
}

package events

// Payload is the body of every event: the reference again, and what a person
// who reads the event wants to know. No function decides by it.
type Payload struct {
	Node string `json:"node"`
	// NodeUID tells two nodes of one name apart.
	NodeUID string `json:"nodeUID,omitempty"`
	// Fence is the NodeFence's UID; FenceNumber which of the node's fences it is.
	Fence       string `json:"fence,omitempty"`
	FenceNumber int64  `json:"fenceNumber,omitempty"`
	Phase       string `json:"phase,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	// Condition, Status, Since: the node condition that changed (RFC 3339).
	Condition string `json:"condition,omitempty"`
	Status    string `json:"status,omitempty"`
	Since     string `json:"since,omitempty"`
	// Pod is the namespace/name that a problem was reported of, if it was a Pod.
	Pod string `json:"pod,omitempty"`
	// Component reported a problem, Count times from First to Last (RFC 3339, by
	// the clock of who reported it).
	Component string `json:"component,omitempty"`
	Count     int64  `json:"count,omitempty"`
	First     string `json:"first,omitempty"`
	Last      string `json:"last,omitempty"`
	// Due is when the fence wanted to be looked at again (RFC 3339); of a problem, the
	// resync that told the report again.
	Due string `json:"due,omitempty"`
}

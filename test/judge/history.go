package judge

import (
	"encoding/json"
	"fmt"
	"time"
)

// History is what happened to a cluster while it was watched.
type History struct {
	// Writes are the successful writes to the API server, in the order in which they were logged.
	Writes []Write
	// Commands are those that BMCs got, in the order in which they were answered.
	Commands []Command
	// Spans are the changes of who writes to which volume, in their order.
	Spans []Span
	// Declared are the lies and the interventions that a test has planned.
	Declared []Declared
}

// Line is a line of a log.
type Line struct {
	File   string
	Number int
}

// String is file and line.
func (l Line) String() string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

// Write is one successful write to the API server.
type Write struct {
	Line Line
	// Received is when the API server got the request, and Done when it had answered.
	Received, Done time.Time
	// Epoch counts the restores before the write: resourceVersions go back in each.
	Epoch int
	// Version is the resourceVersion of the object after the write; 0 if the log does not have it, or the
	// object is gone.
	Version uint64
	// Removes says that the object is gone with this write.
	Removes bool
	Verb    string
	// Resource is the resource, with a subresource behind a slash, such as nodefences/status.
	Resource        string
	Namespace, Name string
	// User is the authenticated user, or the impersonated one.
	User  string
	Agent string
	// Request and Object are the bodies of the request and of the answer; nil where the log has none.
	Request, Object json.RawMessage
}

// Command is one command that a BMC got, or a fault that was set.
type Command struct {
	Line Line `json:"-"`
	// Controller is NODE, or NODE.a and NODE.b for the outlets that feed the machine.
	Controller string    `json:"controller"`
	Address    string    `json:"address"`
	Time       time.Time `json:"time"`
	Command    string    `json:"command"`
	Accepted   bool      `json:"accepted"`
	// Says is what a read was answered: on or off.
	Says string `json:"says"`
	// Fault is the misbehaviour that the BMC was given, in a line without a command.
	Fault string `json:"fault"`
}

// Span is the start or the end of one writer of a volume.
type Span struct {
	Line    Line       `json:"-"`
	Event   string     `json:"event"`
	Volume  string     `json:"volume"`
	Machine string     `json:"machine"`
	Node    string     `json:"node"`
	Pod     string     `json:"pod"`
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to"`
}

// Time is when the writer started or ended.
func (s Span) Time() time.Time {
	if s.To != nil {
		return *s.To
	}
	return s.From
}

// Kind is a kind of lie or intervention.
type Kind string

// The kinds.
const (
	// OthersSwitch: somebody besides nodefence switches the node's machine.
	OthersSwitch Kind = "others switch the machine"
	// FalseWord: a person confirms what is not true, or a device lies, so that two machines may write.
	FalseWord Kind = "a false word about the machine"
	// OthersWrite: a test writes nodefence's objects or marks as no version of nodefence does.
	OthersWrite Kind = "others write nodefence's objects or marks"
)

// Declared is a lie or an intervention that a test has planned about a node.
type Declared struct {
	Kind Kind
	// Node is the node that it is about; empty: all nodes.
	Node string
}

// declares reports whether a test has declared this about a node.
func (h *History) declares(kind Kind, node string) bool {
	for _, d := range h.Declared {
		if d.Kind == kind && (d.Node == "" || d.Node == node) {
			return true
		}
	}
	return false
}

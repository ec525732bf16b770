package judge

import (
	"encoding/json"
	"fmt"
	"time"
)

// History holds the logs of a cluster.
type History struct {
	// Writes are the successful writes to the API server, in the order of the log.
	Writes []Write
	// Commands are the commands to BMCs, in the order of the answers.
	Commands []Command
	// Spans are the starts and ends of writers of volumes, in the order of the journal.
	Spans []Span
	// Declared are the lies and interventions planned by a test.
	Declared []Declared
	// Begins is the time from which Writes has every write that the rules need; zero without writes.
	Begins time.Time
	// KeepBytes bounds the bodies in Writes: the oldest are forgotten, and Begins moves. 0 is 256 MiB.
	KeepBytes int
	// Gaps are questions that a log leaves open, such as the objects of a deletion without names.
	Gaps []string

	// epoch counts the restores so far; bytes are the bodies kept, and forgetAt is when the next are forgotten.
	epoch, bytes, forgetAt int
}

// Line is a line of a log.
type Line struct {
	File   string
	Number int
}

// String is file and line.
func (l Line) String() string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

// Write is a successful write to the API server.
type Write struct {
	Line Line
	// Received is when the API server got the request, and Done when the API server had answered.
	Received, Done time.Time
	// Epoch counts the restores before the write: resourceVersions go back in each.
	Epoch int
	// Version is the resourceVersion of the object after the write; 0 if the log has none, or the
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
	// Request and Object are the bodies of the request and of the answer, without the parts that no rule reads
	// (bodies.go); nil where the log has none.
	Request, Object json.RawMessage
}

// Command is a command to a BMC, or a new fault of the BMC.
type Command struct {
	Line Line `json:"-"`
	// Controller is NODE, or NODE.a and NODE.b for the machine's outlets.
	Controller string    `json:"controller"`
	Address    string    `json:"address"`
	Time       time.Time `json:"time"`
	Command    string    `json:"command"`
	Accepted   bool      `json:"accepted"`
	// Says is the answer to a read: on or off.
	Says string `json:"says"`
	// Fault is a misbehaviour set by the test, in a line without a command.
	Fault string `json:"fault"`
}

// Span is the start or the end of a writer of a volume.
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
	// FalseWord: a person's confirmation is not true, or a device lies, and two machines may write.
	FalseWord Kind = "a false word about the machine"
	// OthersWrite: a test writes nodefence's objects or marks as no version of nodefence does.
	OthersWrite Kind = "others write nodefence's objects or marks"
)

// Declared is a lie or an intervention planned by a test.
type Declared struct {
	Kind Kind
	// Node is the node concerned; empty: all nodes.
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

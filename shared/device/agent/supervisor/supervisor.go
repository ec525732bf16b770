package supervisor

// Name is under which a program is its own supervisor. It is in argv[0] because a variable
// would be handed on to whatever runs next.
const Name = "nodefence: agent supervisor"

// Job is what a supervisor is told, on its standard input. That stays open for
// as long as whoever started it lives.
type Job struct {
	Path string
	Args []string
	// Input has the agent's secrets, which are in nothing else (S29).
	Input []byte
	// Until is a time of the clock that also runs while the machine sleeps (S8).
	Until int64
}

// Outcome is what a supervisor tells, on its standard output, when nothing runs
// any more of all that the agent started.
type Outcome struct {
	// Err is why the agent was not started.
	Err string
	// Code is the agent's own; -1 if it did not come to that.
	Code int
	// Late is that it was ended, having no time left.
	Late           bool
	Stdout, Stderr Text
}

// Text is the beginning of an output, or all of it.
type Text struct {
	Data []byte
	// Cut is that there was more.
	Cut bool
}

// The most that is kept of an output. What a list has beyond that is not seen,
// and no machine counts as listed that is not.
const (
	MaxStdout = 1 << 20
	MaxStderr = 64 << 10
)

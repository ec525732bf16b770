package supervisor

// Name is the name under which a program is its own supervisor. It is in argv[0] because the
// programs that it runs would inherit a variable.
const Name = "nodefence: agent supervisor"

// Timer is the file by which a supervisor gets its timer, a timerfd of the clock that also runs
// while the machine sleeps (S8). It rings when the agent must have ended. Whoever starts the
// supervisor sets it, so it runs before the supervisor does.
const Timer = 3

// Job is what a supervisor gets on its standard input, which stays open for as long as the
// process that started it lives.
type Job struct {
	Path string
	Args []string
	// Input has the agent's secrets, which are in nothing else (S29).
	Input []byte
}

// Outcome is what a supervisor writes to its standard output, when nothing runs any more that the
// agent started.
type Outcome struct {
	// Err is why the agent was not started.
	Err string
	// Code is the agent's exit code; -1 if it has none.
	Code int
	// Late says that the agent was ended because its time was over.
	Late           bool
	Stdout, Stderr Text
}

// Text is the beginning of an output, or all of it.
type Text struct {
	Data []byte
	// Cut says that there was more.
	Cut bool
}

// The most that is kept of an output. The rest of a list is not seen, so a machine that is only
// in the rest does not count as listed.
const (
	MaxStdout = 1 << 20
	MaxStderr = 64 << 10
)

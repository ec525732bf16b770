package agent

import (
	"os"
	"sync/atomic"
)

// supervisor is the name under which a program is its own supervisor. It is in
// argv[0] because a variable would be handed on to whatever runs next.
const supervisor = "nodefence: agent supervisor"

// hooked tells that the program can be its own supervisor.
var hooked atomic.Bool

// Supervise is the first call of main, and of a test binary's TestMain. In a
// process that was started to supervise an agent it does so and ends the
// process; in any other it returns at once. A program without it runs no agent:
// started once more, it would be a second one of itself.
func Supervise() {
	hooked.Store(true)
	if len(os.Args) == 1 && os.Args[0] == supervisor {
		os.Exit(supervise(os.Stdin, os.Stdout))
	}
}

// job is what a supervisor is told, on its standard input. That stays open for
// as long as whoever started it lives.
type job struct {
	Path string
	Args []string
	// Input has the agent's secrets, which are in nothing else (S29).
	Input []byte
	// Until is a time of the clock that also runs while the machine sleeps (S8).
	Until int64
}

// outcome is what a supervisor tells, on its standard output, when nothing runs
// any more of all that the agent started.
type outcome struct {
	// Err is why the agent was not started.
	Err string
	// Code is the agent's own; -1 if it did not come to that.
	Code int
	// Late is that it was ended, having no time left.
	Late           bool
	Stdout, Stderr text
}

// text is the beginning of an output, or all of it.
type text struct {
	Data []byte
	// Cut is that there was more.
	Cut bool
}

// The most that is kept of an output. What a list has beyond that is not seen,
// and no machine counts as listed that is not.
const (
	maxStdout = 1 << 20
	maxStderr = 64 << 10
)

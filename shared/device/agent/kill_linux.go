package agent

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killAll kills all that descends from this process until there is none left.
// One pass is not enough: a process that is killed may just have started
// another, in a session of its own, and who that is shows only now.
func killAll(none <-chan struct{}) {
	for {
		select {
		case <-none:
			return
		default:
		}
		kill(children(), os.Getpid())
		select {
		case <-none:
		case <-time.After(time.Millisecond): // a killed process takes a moment to be gone
		}
	}
}

// kill goes from parents to children: a shell whose child is killed first goes
// on with its next command.
func kill(children map[int][]int, of int) {
	mine := children[of]
	delete(children, of) // numbers that are used again could make a circle
	for _, pid := range mine {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
	}
	for _, pid := range mine {
		kill(children, pid)
	}
}

// children of all processes that can be seen.
func children() map[int][]int {
	out := map[int][]int{}
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return out
	}
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent: the name may hold blanks and brackets.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil && parent > 0 {
			out[parent] = append(out[parent], pid)
		}
	}
	return out
}

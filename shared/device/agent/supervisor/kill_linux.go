package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killAll kills the children of this process until there are none: the children of a killed
// process become children of this one, whatever session they are in. Parents are killed first,
// because a shell whose child is killed continues with its next command.
func killAll(none <-chan struct{}) {
	for {
		select {
		case <-none:
			return
		default:
		}
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
		}
		select {
		case <-none:
		case <-time.After(time.Millisecond): // a killed process takes a moment to be gone
		}
	}
}

// children are the children of this process.
func children() []int {
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
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
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			out = append(out, pid)
		}
	}
	return out
}

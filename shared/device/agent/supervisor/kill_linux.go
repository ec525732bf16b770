package supervisor

import (
	"os"
	"strconv"
	"syscall"
	"time"
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
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
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
		if parent(stat) == os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// parent is the parent in a process's stat, which is: pid (name) state parent and more. The name
// may hold blanks and brackets. It is 0 if there is none to read.
func parent(stat []byte) int {
	blanks, from, to := 0, 0, 0
	for i, c := range stat {
		switch {
		case c == ')':
			blanks, from, to = 0, 0, 0
		case c == ' ':
			switch blanks++; blanks {
			case 2:
				from = i + 1
			case 3:
				to = i
			}
		}
	}
	if from == 0 || to == 0 {
		return 0
	}
	pid, err := strconv.Atoi(string(stat[from:to]))
	if err != nil {
		return 0
	}
	return pid
}

// Command agent is the only program in the images of a lab of real machines.
//
//	agent pause        waits, reaps processes, and holds the namespaces of a pod
//	agent write FILE   appends a line to FILE ten times a second, each written through to the disk
//
// A line of "write" has the time in nanoseconds, the node, the pod, and an ID of the process. Nodes and pods are named
// by the variables NODE and POD.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const period = 100 * time.Millisecond

func main() {
	if err := runCommand(os.Args[1:], os.Getenv, time.Now); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func runCommand(args []string, getenv func(name string) string, now func() time.Time) error {
	switch {
	case len(args) == 1 && args[0] == "pause":
		return reapUntilEnd()
	case len(args) == 2 && args[0] == "write":
		return appendLines(args[1], getenv("NODE"), getenv("POD"), now)
	}
	return errors.New("usage: agent pause | agent write FILE")
}

// reapUntilEnd reaps processes until a signal to end.
func reapUntilEnd() error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return nil
		}
		for reaped := true; reaped; {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			reaped = err == nil && pid > 0
		}
	}
	return nil
}

// appendLines appends lines until a signal to end. O_APPEND orders the lines of all writers of a file.
func appendLines(path, node, pod string, now func() time.Time) error {
	if node == "" || pod == "" {
		return errors.New("set NODE and POD to the names of the node and the pod")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	id := strconv.FormatInt(now().UnixNano(), 36)
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		if _, err := fmt.Fprintf(file, "%d %s %s %s\n", now().UnixNano(), node, pod, id); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-signals:
			return nil
		}
	}
}

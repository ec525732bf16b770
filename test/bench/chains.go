package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nodefence/nodefence/test/rig"
)

// measureChains runs the chains of the other platforms, and prints their figures.
func measureChains(ctx context.Context) error {
	root, err := rig.Root()
	if err != nil {
		return err
	}
	for _, suite := range []string{"test/e2e/lambda", "test/e2e/knative"} {
		fmt.Fprintf(os.Stderr, "fencing in %s\n", suite)
		cmd := exec.CommandContext(ctx, "go", "test", "-tags", "bench", "-run", "TestBenchChain|TestMeasure", "-count=1", "-v", "-timeout", "30m", ".")
		cmd.Dir = filepath.Join(root, suite)
		if err := pass(cmd, logged); err != nil {
			return fmt.Errorf("%s: %w", suite, err)
		}
	}
	return nil
}

// logged prints what a test logs.
func logged(line string) {
	if _, text, ok := strings.Cut(line, "_test.go:"); ok {
		_, text, _ = strings.Cut(text, ": ")
		fmt.Println(text)
	}
}

// pass runs a test and hands on each line that it says, as it comes. All of them
// are in the error.
func pass(cmd *exec.Cmd, line func(string)) error {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	var all strings.Builder
	done := make(chan error, 1)
	go func() {
		in := bufio.NewScanner(r)
		for in.Scan() {
			all.WriteString(in.Text() + "\n")
			line(in.Text())
		}
		done <- in.Err()
	}()
	err := cmd.Run()
	_ = w.Close()
	if err := errors.Join(err, <-done); err != nil {
		return fmt.Errorf("%w\n%s", err, &all)
	}
	return nil
}

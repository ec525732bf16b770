// Command kubectl-fence is the kubectl plugin "kubectl fence": what nodefence does, for people, with
// their own credentials.
//
// Each command has a file of its name. What it says is worded in package view, what it writes is
// built in package act, and cluster speaks with the API server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), ending()...)
	p := &program{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		terminal:  func() bool { return term.IsTerminal(int(os.Stdin.Fd())) },
		start:     startProgram,
	}
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// ending are the signals that end a command as Ctrl-C does, through what it still has to do. One that was started to
// outlive its terminal (nohup) does.
func ending() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// run carries out one command line, and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.In = interruptible{ctx, p.In}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	err := root.ExecuteContext(ctx)
	code := 1
	var c coded
	if errors.As(err, &c) {
		code, err = c.code, c.error
	} else if err == nil {
		code = 0
	}
	if err != nil {
		fmt.Fprintf(p.ErrOut, "error: %s\n", inOneLine(cluster.Explain(err)))
	}
	return code
}

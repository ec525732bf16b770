// Command judge says whether the history of a cluster keeps nodefence's promises.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nodefence/nodefence/test/judge"
)

// The exit codes.
const (
	exitKept   = 0
	exitBroken = 1
	exitFailed = 2
)

const usage = `usage: judge --audit FILE... [--bmc FILE] [--writers FILE] [--others-switch NODE]
             [--false-word NODE] [--others-write NODE]

Says whether a cluster's history keeps nodefence's promises (shared/PROMISES.md).
Exit code 0: no promise was broken; 1: the breaches are printed, each with the
lines of the logs that contradict the promise; 2: the logs could not be read.
What the logs do not hold enough for is printed as "not judged", and a promise
that the judge has no rule for as "no rule".

"nodefence-lab records" prints the paths of a lab's logs.

`

// paths is a flag that may be given several times.
type paths []string

func (p *paths) String() string { return strings.Join(*p, ", ") }

// Set adds a path.
func (p *paths) Set(path string) error {
	*p = append(*p, path)
	return nil
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var audit, bmcs, writers, switched, lied, written paths
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // each fault is told once, below
	flags.Var(&audit, "audit", "an audit `FILE` of the API server; several are given oldest first")
	flags.Var(&bmcs, "bmc", "a `FILE` with the journal of BMCs")
	flags.Var(&writers, "writers", "a `FILE` with the journal of the writers of volumes")
	flags.Var(&switched, "others-switch", "a `NODE` whose machine others switch too")
	flags.Var(&lied, "false-word", "a `NODE` of which a person or a device says falsely that the machine is off")
	flags.Var(&written, "others-write", "a `NODE` whose NodeFence or marks others write")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return exitKept
	case err != nil:
		fmt.Fprintf(stderr, "judge: %v; see --help\n", err)
		return exitFailed
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "judge: %q is no flag: write a flag before each file; see --help\n", flags.Arg(0))
		return exitFailed
	case len(audit) == 0:
		fmt.Fprintln(stderr, "judge: name at least one audit log with --audit; see --help")
		return exitFailed
	}
	h := &judge.History{}
	for kind, nodes := range map[judge.Kind]paths{judge.OthersSwitch: switched, judge.FalseWord: lied, judge.OthersWrite: written} {
		for _, node := range nodes {
			h.Declared = append(h.Declared, judge.Declared{Kind: kind, Node: node})
		}
	}
	if err := h.ReadFiles(judge.Files{Audit: audit, BMCs: bmcs, Writers: writers}); err != nil {
		fmt.Fprintf(stderr, "judge: %v\n", err)
		return exitFailed
	}
	v := judge.Judge(h)
	fmt.Fprint(stdout, v)
	if v.Err() != nil {
		return exitBroken
	}
	return exitKept
}

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

const usage = `usage: judge --audit FILE [--bmc FILE] [--writers FILE]

Says whether a cluster's history keeps nodefence's promises (shared/PROMISES.md).
Exit code 0: no promise was broken; 1: the breaches are printed, each with the
lines of the logs that contradict the promise; 2: the logs could not be read.
What the logs do not hold enough for is printed as "not judged".

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
	var audit, bmcs, writers, declared paths
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.Var(&audit, "audit", "an audit `FILE` of the API server; several are given oldest first")
	flags.Var(&bmcs, "bmc", "a `FILE` with the journal of BMCs")
	flags.Var(&writers, "writers", "a `FILE` with the journal of the writers of volumes")
	flags.Var(&declared, "others-switch", "a `NODE` whose machine others switch too")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitKept
	case err != nil:
		return exitFailed
	case len(audit) == 0 || flags.NArg() > 0:
		fmt.Fprintln(stderr, "judge: name at least one audit log with --audit, and nothing besides flags; see --help")
		return exitFailed
	}
	h := &judge.History{}
	for _, node := range declared {
		h.Declared = append(h.Declared, judge.Declared{Kind: judge.OthersSwitch, Node: node})
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

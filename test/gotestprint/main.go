// Command gotestprint turns `go test -json` into lines that a person reads as
// they come, and with -summary into the counts of everything that ran.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

type line struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	summary := flag.Bool("summary", false, "print the counts, and exit 1 if anything failed")
	flag.Parse()
	t := tally{output: map[string][]string{}}
	if err := t.read(os.Stdin, *summary); err != nil {
		fmt.Fprintf(os.Stderr, "gotestprint: %v\n", err)
		os.Exit(1)
	}
	if *summary && !t.print() {
		os.Exit(1)
	}
}

type tally struct {
	passed, failed, skipped, broken int
	failures, skips                 []string
	output                          map[string][]string
}

func (t *tally) read(r io.Reader, quiet bool) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var l line
		if json.Unmarshal(in.Bytes(), &l) != nil {
			if !quiet {
				fmt.Println(in.Text()) // not JSON: the go command's own words
			}
			continue
		}
		t.take(l, quiet)
	}
	return in.Err()
}

func (t *tally) take(l line, quiet bool) {
	key := l.Package + " " + l.Test
	switch l.Action {
	case "output", "build-output":
		if len(t.output[key]) < 400 {
			t.output[key] = append(t.output[key], l.Output)
		}
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	text := strings.Join(t.output[key], "")
	delete(t.output, key)
	switch {
	case l.Test == "" && l.Action == "fail":
		t.broken++
		t.say(quiet, "FAIL %s\n%s", l.Package, text)
	case l.Test == "" && l.Action == "pass":
		t.say(quiet, "ok   %s %.1fs\n", l.Package, l.Elapsed)
	case l.Test == "":
	case l.Action == "pass":
		t.passed++
	case l.Action == "fail":
		t.failed++
		t.failures = append(t.failures, key)
		t.say(quiet, "FAIL %s\n%s", key, text)
	case l.Action == "skip":
		t.skipped++
		t.skips = append(t.skips, key+": "+reason(text))
	}
}

func (t *tally) say(quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Printf(format, args...)
	}
}

// reason is what the test said when it skipped.
func reason(text string) string {
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "===") && !strings.HasPrefix(l, "---") {
			return l
		}
	}
	return "no reason given"
}

// print tells the counts; false if something failed, or if a skip is not allowed.
func (t *tally) print() bool {
	ok := t.failed == 0 && t.broken == 0 && t.passed > 0
	for _, s := range t.skips {
		fmt.Println("skipped:", s)
		if os.Getenv("NODEFENCE_NO_SKIP") != "" && strings.Contains(s, "apt-get install") {
			fmt.Println("  an installed package would have prevented this")
			ok = false
		}
	}
	for _, f := range t.failures {
		fmt.Println("failed:", f)
	}
	if t.broken > 0 && t.failed == 0 {
		t.failed = t.broken
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	return ok
}

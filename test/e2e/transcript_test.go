package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nodefence/nodefence/test/golden"
	"github.com/nodefence/nodefence/test/rig"
)

// transcript is what a person types and reads, without what differs from one run to the next.
type transcript struct {
	*world
	text strings.Builder
}

// changing are what differs from one run to the next, and what stands for it.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(node-\d)-[a-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`resourceVersion \d+`), "resourceVersion N"},
	{regexp.MustCompile(`\b(ipport +)\d+`), "${1}PORT"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h))+\b`), "Ns"},
	{regexp.MustCompile(`\d+ of its \d+ nodes? (is|are) unhealthy, \d+ of \d+ at once runs?(, \d+ waits?)?, and \d+ more may begin now( \([A-Z][A-Za-z]+: [^;\n]*\))?`), "N of its N nodes are unhealthy, N of N at once run, and N more may begin now"},
	{regexp.MustCompile(`(?m)^Nodefence (looks at it|should have looked at it) .*$`), "Nodefence looks at it at TIME (in Ns), or earlier if something changes."},
	{regexp.MustCompile(`(?m)^nodefence's answer: (Accepted|Done).*$`), "nodefence's answer: Accepted: …"},
}

// columns are what lies between the columns of a table.
var columns = regexp.MustCompile(`  +`)

// steady are the words of a fence's history that every run has.
var steady = regexp.MustCompile(`  (Opened|WaitingForApproval|Admitted|PowerOffSent|SeenOff|Released|PowerOnSent|WaitingForUncordon|Recovered): `)

// entry is a line of a fence's history.
var entry = regexp.MustCompile(`^ +(TIME|Ns)  [A-Z][A-Za-z]+  [A-Za-z]+: `)

// command is the program with a command line.
func (w *world) command(args ...string) *exec.Cmd {
	w.t.Helper()
	bin, err := rig.Bin("kubectl-fence")
	must(w.t, err)
	cmd := exec.CommandContext(w.ctx, bin, args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+w.Lab.Kubeconfig)
	return cmd
}

// plugin runs the program, and returns its exit code and all that it says.
func (w *world) plugin(args ...string) (int, string) {
	w.t.Helper()
	return w.runs(w.command(args...))
}

// runs runs a command to its end.
func (w *world) runs(cmd *exec.Cmd) (int, string) {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// types runs a command line, and checks its exit code.
func (s *transcript) types(code int, args ...string) string {
	s.t.Helper()
	said := s.exits(code, s.command(args...))
	s.writes(commandLine(args...), masked(said))
	return said
}

// exits runs a command to its end, and checks its exit code.
func (s *transcript) exits(code int, cmd *exec.Cmd) string {
	s.t.Helper()
	got, said := s.runs(cmd)
	if got != code {
		s.t.Errorf("kubectl fence %s: exit code %d, want %d: %s", strings.Join(cmd.Args[1:], " "), got, code, said)
	}
	return said
}

// commandLine is what a person types.
func commandLine(args ...string) string {
	line := "kubectl fence"
	for _, a := range args {
		if strings.ContainsAny(a, " ") {
			a = `"` + a + `"`
		}
		line += " " + a
	}
	return line
}

// unchanging is what a command said, with what stands for all that differs from one run to the next.
func unchanging(said string) string {
	for _, c := range changing {
		said = c.what.ReplaceAllString(said, c.with)
	}
	return said
}

// masked is the same of tables and sentences: columns are as wide as what differs, and not every run has
// each step.
func masked(said string) string {
	var b strings.Builder
	was := ""
	for l := range strings.Lines(columns.ReplaceAllString(unchanging(said), "  ")) {
		if entry.MatchString(l) && (!steady.MatchString(l) || l == was) {
			continue
		}
		was = l
		b.WriteString(l)
	}
	return b.String()
}

// writes adds a command line and what it said.
func (s *transcript) writes(line, said string) {
	s.text.WriteString("$ " + line + "\n")
	for l := range strings.Lines(said) {
		s.text.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	s.text.WriteString("\n")
}

// kept compares the transcript with the one that is kept.
func (s *transcript) kept(name string) {
	s.t.Helper()
	root, err := rig.Root()
	must(s.t, err)
	golden.File(s.t, filepath.Join(root, "sources/kubectl-fence/testdata", name+".txt"), s.text.String())
	s.text.Reset()
}

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
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h))+\b`), "Ns"},
	{regexp.MustCompile(`\d+ of its \d+ nodes? (is|are) unhealthy, \d+ (fence is|fences are) open, and \d+ more may begin now|nodefence has not counted its nodes yet`), "N of its N nodes are unhealthy, N fences are open, and N more may begin now"},
	{regexp.MustCompile(`(?m)^Nodefence (looks at it|should have looked at it) .*$`), "Nodefence looks at it at TIME (in Ns), or earlier if something changes."},
	{regexp.MustCompile(`(?m)^nodefence's answer: (Accepted|Done).*$`), "nodefence's answer: Accepted: …"},
	{regexp.MustCompile(`  +`), "  "},
}

// steady are the words of a fence's history that every run has.
var steady = regexp.MustCompile(`  (Opened|WaitingForApproval|Admitted|PowerOffSent|SeenOff|Released|PowerOnSent|WaitingForUncordon|Recovered): `)

// entry is a line of a fence's history.
var entry = regexp.MustCompile(`^ +(TIME|Ns)  [A-Z][A-Za-z]+  [A-Za-z]+: `)

// plugin runs the program, and returns its exit code and all that it says.
func (w *world) plugin(args ...string) (int, string) {
	w.t.Helper()
	bin, err := rig.Bin("kubectl-fence")
	must(w.t, err)
	cmd := exec.CommandContext(w.ctx, bin, args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+w.Lab.Kubeconfig)
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
	got, said := s.plugin(args...)
	if got != code {
		s.t.Errorf("kubectl fence %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, said)
	}
	line := "$ kubectl fence"
	for _, a := range args {
		if strings.ContainsAny(a, " ") {
			a = `"` + a + `"`
		}
		line += " " + a
	}
	text := said
	for _, c := range changing {
		text = c.what.ReplaceAllString(text, c.with)
	}
	s.text.WriteString(line + "\n")
	was := ""
	for l := range strings.Lines(text) {
		if entry.MatchString(l) && (!steady.MatchString(l) || l == was) {
			continue
		}
		was = l
		s.text.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	s.text.WriteString("\n")
	return said
}

// kept compares the transcript with the one that is kept.
func (s *transcript) kept(name string) {
	s.t.Helper()
	root, err := rig.Root()
	must(s.t, err)
	golden.File(s.t, filepath.Join(root, "sources/kubectl-fence/testdata", name+".txt"), s.text.String())
	s.text.Reset()
}

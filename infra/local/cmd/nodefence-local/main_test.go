package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kelseyhightower/envconfig"
)

// TestTheNodeThatItRunsOn is known, or it does not start (S13).
func TestTheNodeThatItRunsOn(t *testing.T) {
	for name, c := range map[string]struct {
		given string
		inPod bool
		want  string
		err   string
	}{
		"told":                       {given: "node-1", want: "node-1"},
		"told in a pod":              {given: "node-1", inPod: true, want: "node-1"},
		"on no node":                 {given: "none", want: ""},
		"on no node, in a pod":       {given: "none", inPod: true, want: ""},
		"not told: the host's name":  {want: "host"},
		"not told in a pod: refused": {inPod: true, err: "NODE_NAME is not set"},
	} {
		got, err := self(c.given, "host", c.inPod)
		if got != c.want || (err != nil) != (c.err != "") || (err != nil && !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestANamespaceThatIsAdoptedInVain is refused before anything runs: no object in it would be answered. It
// is also refused where a shared environment names one function, because this program serves all of them.
func TestANamespaceThatIsAdoptedInVain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: m, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: m, context: {cluster: m}}], current-context: m}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "NODEFENCE_ADOPT_NAMESPACES has b, whose FenceRequests do not count"
	for _, function := range []string{"", "power"} {
		t.Setenv("NODEFENCE_FUNCTION", function)
		t.Setenv("NODEFENCE_CLUSTER", "c") // nobody is asked for it
		var out strings.Builder
		err := start(t.Context(), []string{
			"--kubeconfig", file, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0",
			"--adopt", "far", "--adopt-namespaces", "a,b", "--request-namespaces", "nodefence-system,a",
		}, &out)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("NODEFENCE_FUNCTION=%q: %v, want %s", function, err, want)
		}
	}
}

// TestHelpNamesEachVariable that this program reads.
func TestHelpNamesEachVariable(t *testing.T) {
	var names, help strings.Builder
	if err := envconfig.Usagef("", &settings{}, &names, "{{range .}}{{.Alt}} {{end}}"); err != nil {
		t.Fatal(err)
	}
	if err := start(t.Context(), []string{"--help"}, &help); err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(names.String())
	if len(all) < 25 {
		t.Fatalf("only %v were found", all)
	}
	without := []string{
		"NODEFENCE_FUNCTION", "NODEFENCE_DIRECT", // the process serves all functions, and calls them in itself
		"PORT", // --listen has it
	}
	for _, name := range all {
		ofTraces := strings.HasPrefix(name, "OTEL_") && name != "OTEL_EXPORTER_OTLP_ENDPOINT" // infra/observability has them
		if !ofTraces && !slices.Contains(without, name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(help.String()) {
			t.Errorf("the help doesn't name %s", name)
		}
	}
}

package main

import (
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

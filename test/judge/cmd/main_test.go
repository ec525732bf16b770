package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExitCodes: 0 where every promise is kept, 1 for a breach, and 2 for what can't be read or is no flag.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	audit, bmc := file("audit", ""), file("bmc", `{"controller":"n1","command":"off","accepted":true}`+"\n")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--help", exitKept, "usage: judge"},
		{"--audit " + audit, exitKept, "0 broken promises"},
		{"--audit " + audit + " --bmc " + bmc, exitBroken, "no fence of the node has a claim for that"},
		{"--audit " + audit + " --bmc " + bmc + " --others-switch n1", exitKept, "0 broken promises"},
		{"--bmc " + bmc, exitFailed, "see --help"},
		{"--audit " + audit + " extra", exitFailed, "see --help"},
		{"--audit " + file("broken", "{\n"), exitFailed, "read broken:1"},
		{"--audit " + dir + "/none", exitFailed, "open log"},
		{"--nonsense", exitFailed, "nonsense"},
	} {
		var out strings.Builder
		if code := run(strings.Fields(c.args), &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("judge %s: exit code %d, want %d, and %q in\n%s", c.args, code, c.code, c.says, out.String())
		}
	}
}

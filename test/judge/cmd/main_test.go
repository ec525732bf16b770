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
	writers := file("writers", `{"event":"start","volume":"v","machine":"n1","node":"n1","pod":"a","from":"2026-01-01T00:00:00Z"}
{"event":"start","volume":"v","machine":"n2","node":"n2","pod":"b","from":"2026-01-01T00:00:01Z"}
`)
	wrote := func(resource, version, object string) string {
		return `{"stage":"ResponseComplete","verb":"update","userAgent":"nodefence/recover","objectRef":{"resource":"` + resource + `","name":"n1"},"responseStatus":{"code":200},` +
			`"responseObject":{"metadata":{"name":"n1","uid":"u","resourceVersion":"` + version + `"},` + object + "}}\n"
	}
	marked := file("marked", wrote("nodes", "1", `"kind":"Node","spec":{"taints":[{"key":"nodefence.io/isolated","value":"u"}]}`)+
		wrote("nodefences", "2", `"kind":"NodeFence","status":{"fenceNumber":1,"phase":"Recovering"}`)+
		wrote("nodefences", "3", `"kind":"NodeFence","status":{"fenceNumber":1,"phase":"Finished"}`))
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
		{"--audit " + audit + " --writers " + writers, exitBroken, "has two writers"},
		{"--audit " + audit + " --writers " + writers + " --false-word n1", exitKept, "0 broken promises"},
		{"--audit " + marked, exitBroken, "the taint nodefence.io/isolated is left"},
		{"--audit " + marked + " --others-write n1", exitKept, "0 broken promises"},
		{"--audit " + audit + " extra", exitFailed, `"extra" is no flag`},
		{"--audit", exitFailed, "flag needs an argument: -audit; see --help"},
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

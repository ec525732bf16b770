package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestANodeAsKubectlNamesIt: what "status -o name", "devices -o name" and "kubectl get nodefences -o name" print is
// taken wherever a node is named.
func TestANodeAsKubectlNamesIt(t *testing.T) {
	s := calm()
	s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"}}`)
	s[own+"nodeproblempolicies"], s[own+"fencebudgets"] = json.RawMessage(`{"items":[]}`), json.RawMessage(`{"items":[]}`)
	s["/api/v1/namespaces/nodefence-system/configmaps"] = json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMapList","items":[]}`)
	if got := s.run(t, "", "status", "-o", "name"); got.out != "node/a\n" {
		t.Errorf("%q: %s", got.out, got.errors)
	}
	for _, args := range [][]string{{"why", "a"}, {"history", "a"}, {"plan", "a"}, {"approve", "a", "--dry-run", "client"}, {"confirm-off", "a", "--confirm", "a", "--wait", "0s"}} {
		plain := s.run(t, "", args...)
		for _, kind := range []string{"node/", "nodes/", "no/", "nodefence.nodefence.io/", "nfence/", "fencetarget.nodefence.io/", "fencetargets/"} {
			named := slices.Clone(args)
			for i := range named {
				if named[i] == "a" {
					named[i] = kind + "a"
				}
			}
			if got := s.run(t, "", named...); got.code != plain.code || got.out != plain.out || got.errors != plain.errors || len(got.patches) != len(plain.patches) || strings.Contains(got.errors, "does not exist") {
				t.Errorf("%v: exit code %d: %s%s\nwant %d: %s%s", named, got.code, got.out, got.errors, plain.code, plain.out, plain.errors)
			}
		}
	}
	for _, verb := range []string{"why", "plan", "ask", "drill", "abort"} {
		args := []string{verb, "node/b"}
		if verb == "ask" {
			args = append(args, "--reason", "r")
		}
		if got := s.run(t, "", args...); got.code == 0 || !strings.HasSuffix(got.errors, "error: node b does not exist; there are a\n") {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.errors)
		}
	}
}

package main

import (
	"strings"
	"testing"
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

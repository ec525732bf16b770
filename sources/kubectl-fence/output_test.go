package main

import (
	"testing"
	"time"
)

// TestTemplates are kubectl's, of what json prints.
func TestTemplates(t *testing.T) {
	for want, args := range map[string][]string{
		"a Pending":          {"status", "-o", "jsonpath={.items[*].node} {.items[0].state}"},
		"a is for workers; ": {"status", "-o", "go-template={{range .items}}{{.node}} is for {{.policy}}; {{end}}"},
		"WaitingForApproval": {"why", "a", "-o", "jsonpath={.reason}"},
		"3":                  {"history", "a", "-o", "jsonpath={.items[0].fenceNumber}"},
		"items: []\n":        {"devices", "-o", "yaml"},
	} {
		if got := calm().run(t, "", args...); got.code != 0 || got.out != want {
			t.Errorf("%v: exit code %d: %q, want %q: %s", args, got.code, got.out, want, got.errors)
		}
	}
}

// TestPlansForPrograms: one report as it is, many as a list.
func TestPlansForPrograms(t *testing.T) {
	s := drillable(`"leases":{"observedAt":"` + stamp(time.Second) + `","since":"` + stamp(time.Hour) + `","renewal":"10s","total":1}`)
	for want, args := range map[string][]string{
		"a is for workers":   {"plan", "a", "-o", "jsonpath={.node} is for {.policy.policy.name}"},
		"all: a for workers": {"plan", "--all", "-o", "jsonpath=all:{range .items[*]} {.node} for {.policy.policy.name}{end}"},
	} {
		if got := s.run(t, "", args...); got.code != 0 || got.out != want {
			t.Errorf("%v: exit code %d: %q, want %q: %s", args, got.code, got.out, want, got.errors)
		}
	}
}

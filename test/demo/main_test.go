package main

import (
	"strings"
	"testing"
)

// TestNoSuchDemo: who misspells one is told all that there are, and nothing is started.
func TestNoSuchDemo(t *testing.T) {
	err := choose(t.Context(), []string{"strom"})
	if err == nil || !strings.HasPrefix(err.Error(), "no demo \"strom\"; there are\n  make demo DEMO=approve ") ||
		strings.Count(err.Error(), "make demo DEMO=") != len(tales) {
		t.Error(err)
	}
}

package main

import (
	"strings"
	"testing"
)

// TestNoSuchDemo: a misspelled name is answered with all names, and no demo starts.
func TestNoSuchDemo(t *testing.T) {
	err := choose(t.Context(), []string{"strom"})
	if err == nil || !strings.HasPrefix(err.Error(), "no demo \"strom\"; there are\n  make demo DEMO=approve ") ||
		strings.Count(err.Error(), "make demo DEMO=") != len(tales) {
		t.Error(err)
	}
}

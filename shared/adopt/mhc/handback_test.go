package mhc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHandBack: the condition in the form of each version, beside those of others; and once.
func TestHandBack(t *testing.T) {
	ready := map[string]any{"type": "Ready", "status": "False", "x": 1.}
	asked := func(more map[string]any) map[string]any {
		is := map[string]any{"type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}
		for k, v := range more {
			is[k] = v
		}
		return is
	}
	for name, c := range map[string]struct {
		version   string
		has, want []any
		changed   bool
	}{
		"v1beta2":              {newer, []any{ready}, []any{ready, asked(nil)}, true},
		"v1beta1":              {older, nil, []any{asked(map[string]any{"severity": "Warning"})}, true},
		"of an earlier time":   {newer, []any{map[string]any{"type": "OwnerRemediated", "status": "True"}, ready}, []any{asked(nil), ready}, true},
		"the owner is at work": {newer, []any{asked(map[string]any{"reason": "MachineDeleting"})}, []any{asked(map[string]any{"reason": "MachineDeleting"})}, false},
	} {
		got, changed := HandBack(c.version, c.has, "m", now)
		if d := cmp.Diff(c.want, got); d != "" || changed != c.changed {
			t.Errorf("%s: %v %s", name, changed, d)
		}
	}
}

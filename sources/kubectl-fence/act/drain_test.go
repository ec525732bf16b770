package act

import (
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestDrain: only the two wishes that the kind has, and each says what it does.
func TestDrain(t *testing.T) {
	for wish, c := range map[string]struct {
		want api.DrainWish
		says string
	}{
		"IfReady": {"", "are asked to leave first"},
		"Skip":    {api.DrainSkip, "are not asked"},
		"skip":    {"", `--drain is "skip": write IfReady or Skip`},
		"":        {"", "write IfReady or Skip"},
	} {
		q := &api.FenceRequest{}
		says, err := Drain(q, wish)
		if err != nil {
			says = err.Error()
		}
		if q.Spec.Drain != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%q: %q, %s", wish, q.Spec.Drain, says)
		}
	}
}

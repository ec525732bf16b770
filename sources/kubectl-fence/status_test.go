package main

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// TestWatchPrintsANoteOnce, and once more if it has come anew.
func TestWatchPrintsANoteOnce(t *testing.T) {
	s := view.Seen{Policies: make([]api.FencePolicy, 1)}
	var was printed
	for i, step := range []struct {
		paused []string
		want   int
	}{{[]string{"ann"}, 1}, {[]string{"ann"}, 0}, {[]string{"ann", "bob"}, 1}, {nil, 0}, {[]string{"ann"}, 1}} {
		s.Policies[0].Spec.PauseRequests = step.paused
		if notes, _ := was.changed(&s); len(notes) != step.want {
			t.Errorf("step %d: %d notes, want %d: %s", i, len(notes), step.want, notes)
		}
	}
}

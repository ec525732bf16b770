package checks

import (
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestNeighborsWithoutAnImage go wrong, in words that say what to set: nobody has seen
// that the node is silent, so it is not dead.
func TestNeighborsWithoutAnImage(t *testing.T) {
	r := &rounding{Checker: &Checker{}, fence: &api.NodeFence{}, round: &api.CheckRound{Number: 1}}
	if err := r.askNeighbors(t.Context(), "1", &api.NeighborsSettings{Count: 2}); err != nil {
		t.Fatal(err)
	}
	if len(r.results) != 2 || r.results[1].Answer != api.AnswerError || !strings.Contains(r.results[1].Message, "NODEFENCE_NEIGHBORS_IMAGE") {
		t.Errorf("%+v", r.results)
	}
}

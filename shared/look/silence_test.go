package look

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheSilenceAfterACut: a node that says nothing since before a person aborted an early probe of it is left
// out of another failure's fence. After that fence has cut, its silence says that it has not come back.
func TestTheSilenceAfterACut(t *testing.T) {
	for cut, want := range map[bool]int{false: 0, true: 1} {
		f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.AbortedAnnotation: `{"nodeUID":"n","lease":"mark"}`}}}
		f.Status.CutOrReleased = cut
		seen := &observed.Look{Lease: observed.Lease{Renewed: "mark"}, Node: observed.Node{UID: "n", Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown"}}}}
		if withoutAborted(f, seen); len(seen.Node.Conditions) != want {
			t.Errorf("cut %t: %d conditions are seen, want %d", cut, len(seen.Node.Conditions), want)
		}
	}
}

package act

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Change is one write of one object.
type Change struct {
	// Resource and Name are the object: nodefences, worker-7.
	Resource, Name string
	// Says is what the change will do, a sentence each.
	Says []string
	// Done says it in the past, for the line that follows: "fence 3 of node worker-7 approved".
	Done string
	// Patch is the merge patch. It has metadata.uid and metadata.resourceVersion, so that it
	// changes nothing but the object that was read.
	Patch map[string]any
	// Asks names the request that nodefence answers in status.answers; empty if none.
	Asks api.RequestName
	// At is that request's time, by which its answer is found.
	At metav1.Time
}

// Words are what the change will do, in lines.
func (c Change) Words() string { return strings.Join(c.Says, "\n") + "\n" }

// guard is the metadata of a patch of exactly this object.
func guard(m *metav1.ObjectMeta) map[string]any {
	return map[string]any{"uid": string(m.UID), "resourceVersion": m.ResourceVersion}
}

// Person is who acts, when, and why.
type Person struct {
	// Name is the authenticated user.
	Name string
	// At is the time of the request. It tells one request from the next.
	At metav1.Time
	// Reason is for those who read it later; it may be empty.
	Reason string
}

// nothingToDo is a request of which the answer is known already.
func nothingToDo(node, words string) error { return fmt.Errorf("node %s: %s", node, words) }

// Same tells whether a change that was built anew is still the one that was shown: of the same
// object, and of the same fence.
func (c Change) Same(o Change) bool {
	return c.Resource == o.Resource && c.Name == o.Name && reflect.DeepEqual(c.essence(), o.essence())
}

// essence is the patch without the version that it is about.
func (c Change) essence() any {
	meta, _ := c.Patch["metadata"].(map[string]any)
	return []any{meta["uid"], c.Patch["spec"]}
}

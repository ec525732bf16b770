package act

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Change is one write of one object.
type Change struct {
	// Resource and Name are the object: nodefences, worker-7.
	Resource, Name string
	// Namespace is that of a ConfigMap; empty for nodefence's own objects, which have none.
	Namespace string
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

	// rests is what of the fence the person's word is about, besides what is said of it. A word that
	// rests on something else is not theirs (S3).
	rests any
	// brake: it only stops something, and is no request to a fence.
	brake bool
	// beside is the field of the spec beside a brake that says who changed the brake; empty of any other change.
	beside string
}

// Words are what the change will do, in lines.
func (c Change) Words() string { return view.Lines(c.Says) }

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

// IsBrake tells whether the change sets or releases a brake.
func (c Change) IsBrake() bool { return c.beside != "" }

// NamedBy is the change of a brake with who makes it and when, for the record of acts. No other change is touched, and
// none is without the name.
func (c Change) NamedBy(p Person, at time.Time) Change {
	if c.beside == "" || p.Name == "" || len(p.Name) > 256 {
		return c
	}
	word := map[string]any{"by": p.Name, "at": observed.StampOf(at), "reason": nil} // a merge patch keeps what it does not name
	return c.withSpec(func(spec map[string]any) {
		if p.Reason != "" && spec["stopReason"] == nil {
			word["reason"] = p.Reason
		}
		spec[c.beside] = word
	})
}

// Unnamed is the change without who makes it, and whether that is another change.
func (c Change) Unnamed() (Change, bool) {
	spec, _ := c.Patch["spec"].(map[string]any)
	if _, named := spec[c.beside]; c.beside == "" || !named {
		return c, false
	}
	return c.withSpec(func(spec map[string]any) { delete(spec, c.beside) }), true
}

// withSpec is the change with another spec. The patch of c stays as it is.
func (c Change) withSpec(change func(map[string]any)) Change {
	was, _ := c.Patch["spec"].(map[string]any)
	spec := maps.Clone(was)
	change(spec)
	c.Patch = maps.Clone(c.Patch)
	c.Patch["spec"] = spec
	return c
}

// Same tells whether a change that was built anew is still the one that was shown.
func (c Change) Same(o Change) bool { return c.Shown() == o.Shown() }

// Shown identifies what a person was shown: the object, the fence and what is asked of it, what it
// will do, and what their word rests on. The message of the fence may change meanwhile. What a brake
// will do may change too: it is never held up for that.
func (c Change) Shown() string {
	meta, _ := c.Patch["metadata"].(map[string]any)
	c, _ = c.Unnamed()
	switch {
	case c.brake:
		return Digest(c.Resource, c.Name, meta["uid"])
	case c.brakes():
		return Digest(c.Resource, c.Name, meta["uid"], c.Patch["spec"])
	}
	says := c.Says
	if c.Asks != "" {
		says = says[1:]
	}
	return Digest(c.Resource, c.Name, meta["uid"], c.Patch["spec"], says, c.rests)
}

// Digest tells one thing that was shown from another.
func Digest(what ...any) string {
	text, err := json.Marshal(what)
	if err != nil {
		return "" // patches and sentences are always JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// brakes tells whether the change only stops something.
func (c Change) brakes() bool { return c.Asks == api.AskedAbort || c.brake }

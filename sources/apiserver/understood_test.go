package apiserver

import (
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/kube"
)

// TestAPolicyThatIsNotUnderstoodBlindsNobody: other policies are read, and this one keeps
// the nodes that it named before.
func TestAPolicyThatIsNotUnderstoodBlindsNobody(t *testing.T) {
	f := newFakeAPI(t)
	policy := func(name string, more map[string]any) map[string]any {
		spec := map[string]any{"selector": map[string]any{}, "mode": "Enforce", "action": "Reboot"}
		for k, v := range more {
			spec[k] = v
		}
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}
	}
	except := func(pet string) map[string]any {
		return map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"pet": pet}}}
	}
	f.set(policiesURL, policy("bad", map[string]any{"precedence": "high", "missingNodes": 7, "drainFirst": true}))
	f.set(policiesURL, policy("pets", map[string]any{"exclude": except("yes"), "missingNodes": map[string]any{"nodeNames": []string{"b"}}}))
	n := nodeIn("a", "True", 0)
	n.Labels = map[string]string{"pet": "yes"}
	f.set(nodesURL, n)
	s, _ := start(t, f, time.Hour)
	excluded := func() string { return f.enrolled("fence-enrolled-a")[kube.ExcludedBy] }
	eventually(t, func() bool { return excluded() == "pets" })
	f.set(policiesURL, policy("pets", map[string]any{"exclude": 7, "missingNodes": "all"}))
	f.set(policiesURL, policy("last", map[string]any{"exclude": except("yes")}))
	eventually(t, func() bool { return excluded() != "pets" }) // what comes after it is written
	if by := excluded(); by != "last pets" {
		t.Errorf("excluded by %q", by)
	}
	s.left.mu.Lock()
	if e := s.left.expected["pets"]; len(e) != 1 || e[0] != "b" {
		t.Errorf("it expects %v", e)
	}
	s.left.mu.Unlock()
	f.set(policiesURL, policy("pets", nil))
	eventually(t, func() bool { return excluded() == "last" })
}

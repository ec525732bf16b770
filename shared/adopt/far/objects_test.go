package far

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestNode: an object that was taken up is about that node for good (S11: never another machine than
// the one that was meant).
func TestNode(t *testing.T) {
	for name, c := range map[string]struct {
		noted, kept, want string
		fails             bool
	}{
		"by its name":              {"", "", "a", false},
		"by its annotation":        {"b", "", "b", false},
		"no name":                  {"B!", "", "", true},
		"taken up":                 {"b", "b", "b", false},
		"changed since":            {"c", "b", "b", true},
		"no name any more":         {"B!", "b", "b", true},
		"the annotation is gone":   {"", "b", "b", true},
		"what was kept is no name": {"b", "B!", "b", false},
	} {
		o := &Object{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{}}}
		for key, value := range map[string]string{api.NodeNameAnnotation: c.noted, KeptNode: c.kept} {
			if value != "" {
				o.Annotations[key] = value
			}
		}
		got, err := Node(o)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

package ask

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestNode: one node follows from the names of an object, or none.
func TestNode(t *testing.T) {
	const long = "ip-10-100-200-111.eu-central-1.compute.internal.example.com-pool-a"
	for name, c := range map[string]struct {
		object, given, noted string
		want, says           string
	}{
		"the object's name":             {"a", "", "", "a", ""},
		"the annotation before it":      {"a-x", "", "a", "a", ""},
		"the spec before it":            {"a-x", "a", "", "a", ""},
		"both":                          {"a", "a", "a", "a", ""},
		"both, and they differ":         {"a", "a", "b", "", "they must name one node"},
		"a copy whose name stayed":      {"a", "b", "", "", "name it like the node, or begin its name with b-"},
		"a name that begins alike":      {"ab", "a", "", "", "name it like the node"},
		"a shorter name":                {"a", "a-b", "", "", "name it like the node"},
		"a name that is cut off":        {long[:58] + "x2b4z", "", long, long, ""},
		"one that is cut off too early": {long[:57] + "-x2b4z", "", long, "", "name it like the node"},
		"one that is not cut off there": {long[:58] + "x2b4", "", long, "", "name it like the node"},
		"the path of something else":    {"a", "../nodes", "", "", "is not a node's name"},
		"an annotation that is a path":  {"a", "", "a/b", "", "is not a node's name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Name: c.object}, Spec: api.FenceRequestSpec{NodeName: c.given}}
			if c.noted != "" {
				r.Annotations = map[string]string{api.NodeNameAnnotation: c.noted}
			}
			got, err := Node(r)
			if said := words(err); got != c.want || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("%q, %q", got, said)
			}
			if got := Subject(r); c.want == "" && got != c.object || c.want != "" && got != c.want {
				t.Errorf("an event is about %q", got)
			}
		})
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestUser: the record names the author whom the API server knows, or the object (S20: the name
// that is recorded is the authenticated one).
func TestUser(t *testing.T) {
	yes := true
	r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-x"}}
	says := func(want string) {
		t.Helper()
		if got := User(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("FenceRequest n/a-x")
	r.OwnerReferences = []metav1.OwnerReference{{Kind: "Rack", Name: "west"}}
	says("FenceRequest n/a-x, owner Rack/west")
	r.OwnerReferences = append(r.OwnerReferences, metav1.OwnerReference{Kind: "NodeHealthCheck", Name: "nhc", Controller: &yes})
	says("FenceRequest n/a-x, owner NodeHealthCheck/nhc")
	r.OwnerReferences, r.Annotations = nil, map[string]string{api.OnBehalfOfAnnotation: "NodeHealthCheck/other"}
	says("FenceRequest n/a-x, owner NodeHealthCheck/other")
	r.Annotations[api.OnBehalfOfAnnotation] = strings.Repeat("x", 400)
	says("FenceRequest n/a-x")
	r.Spec.RequestedBy = "ada"
	says("ada")
}

// TestNamespaces as a setting has them.
func TestNamespaces(t *testing.T) {
	var n Namespaces
	if err := n.Decode(" a, b,,a"); err != nil || strings.Join(n, " ") != "a b" || !n.Has("b") || n.Has("") || n.Has("c") {
		t.Errorf("%v %v", n, err)
	}
	if err := n.Decode(""); err != nil || len(n) > 0 {
		t.Errorf("%v %v", n, err)
	}
	if err := n.Decode("a,../b"); err == nil || err.Error() != `"../b" is not the name of a namespace, such as nodefence-system` {
		t.Error(err)
	}
}

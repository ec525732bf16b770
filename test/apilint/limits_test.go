package apilint

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// appliedLimit is how much of an object `kubectl apply` can keep in its annotation, and
// storedLimit how much etcd takes in one request. Both are Kubernetes' own.
const (
	appliedLimit = 256 << 10
	storedLimit  = 1536 << 10
)

// TestCRDsAreWithinTheAPIServersLimits: each kind can be applied, stored and served.
func TestCRDsAreWithinTheAPIServersLimits(t *testing.T) {
	files, err := filepath.Glob("../../infra/crd/nodefence.io_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		applied, wrong := judge(t, string(text))
		for _, w := range wrong {
			t.Errorf("%s: %s", filepath.Base(file), w)
		}
		t.Logf("%s: %d KiB of the %d that kubectl apply can keep", filepath.Base(file), applied>>10, appliedLimit>>10)
	}
}

// TestLimitsAreSeen: the test above finds what it is for.
func TestLimitsAreSeen(t *testing.T) {
	const good = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              names:
                type: array
                maxItems: 16
                items: {type: string, maxLength: 63}
                x-kubernetes-validations: [{rule: "self.all(x, self.exists_one(y, y == x))", message: names must differ}]
`
	for name, c := range map[string]struct{ from, to, says string }{
		"as it is":         {"", "", ""},
		"a list unbounded": {"maxItems: 16", "", "estimated rule cost exceeds budget"},
		"a text unbounded": {"maxLength: 63", "", "estimated rule cost exceeds budget"},
		"not structural":   {"spec:\n            type: object", "spec:", "type: Required value"},
		"no such function": {"exists_one(y", "exists_two(y", "undeclared reference to 'exists_two'"},
		"too long to keep": {"type: object\n        properties", "type: object\n        description: " + strings.Repeat("x", appliedLimit) + "\n        properties", "kubectl apply"},
	} {
		if c.from != "" && !strings.Contains(good, c.from) {
			t.Fatalf("%s: no %q to change", name, c.from)
		}
		_, wrong := judge(t, strings.Replace(good, c.from, c.to, 1))
		if (c.says == "") != (len(wrong) == 0) || !slices.ContainsFunc(append(wrong, ""), func(w string) bool { return strings.Contains(w, c.says) }) {
			t.Errorf("%s: %q, want %q", name, wrong, c.says)
		}
	}
}

// judge says how long a CustomResourceDefinition is, and why the API server, its store or
// kubectl would not take it.
func judge(t *testing.T, text string) (applied int, wrong []string) {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(text), &crd); err != nil {
		return 0, []string{err.Error()}
	}
	kept, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) > appliedLimit {
		wrong = append(wrong, fmt.Sprintf("%d bytes are more than the %d that kubectl apply can keep in its annotation", len(kept), appliedLimit))
	}
	// With the annotation, and a record of who owns which field that is as long.
	if 3*len(kept) > storedLimit {
		wrong = append(wrong, fmt.Sprintf("%d bytes, three times, are more than the %d that etcd stores", len(kept), storedLimit))
	}
	scheme.Default(&crd)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&crd, &internal, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions { // as the API server does before it looks
		if v.Storage {
			internal.Status.StoredVersions = []string{v.Name}
		}
	}
	for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		wrong = append(wrong, err.Error())
	}
	return len(kept), wrong
}

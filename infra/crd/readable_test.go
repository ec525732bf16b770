package crd_test

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatIsStoredCanBeRead: the API server takes times in more notations than Go's
// decoders do. One object in such a notation would keep everybody from reading all objects
// of its kind, so that nothing was fenced any more: it is refused. A duration is a text of
// the API's own, which decodes whatever it says.
func TestWhatIsStoredCanBeRead(t *testing.T) {
	notations := map[string][]string{
		"date-time": {"2026-11-21T22:48:34Z", "2026-11-21T22:48:34.123456Z", "2026-11-21T22:48:34+01:00", "2026-11-21T22:48:34.123456-08:00",
			"2026-11-21T22:48:34", "2026-11-21T22:48:34.5", "2026-11-21t22:48:34z", "2026-11-21T22:48:34+99:00", "2026-11-21", ""},
	}
	reads := map[string]func(path string) func([]byte) error{
		"date-time": func(path string) func([]byte) error {
			if strings.HasPrefix(path, "FenceLedger.") || strings.HasPrefix(path, "FenceAct.") || strings.HasSuffix(path, ".pauseChanged.at") {
				return new(metav1.MicroTime).UnmarshalJSON
			}
			return new(metav1.Time).UnmarshalJSON
		},
	}
	seen := map[string]int{}
	for _, kind := range []string{"fencepolicies", "fencebudgets", "nodeproblempolicies", "fenceledgers", "nodefences", "fenceacts"} {
		root := schemaOf(t, kind)
		spec := root.Properties["spec"]
		if kind == "nodefences" { // the rest of its spec is written by the gate
			spec = schema{Properties: map[string]schema{"requests": spec.Properties["requests"]}}
		}
		formatted(root.kind, spec, func(path string, s schema) {
			seen[s.Format]++
			pattern, err := regexp.Compile(s.Pattern)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			taken := 0
			for _, text := range notations[s.Format] {
				if !pattern.MatchString(text) {
					continue
				}
				if err := reads[s.Format](path)([]byte(`"` + text + `"`)); err != nil {
					t.Errorf("%s takes %q, which nobody can read: %v", path, text, err)
				}
				taken++
			}
			if taken == 0 {
				t.Errorf("%s takes nothing", path)
			}
		})
	}
	if seen["date-time"] == 0 {
		t.Errorf("looked at %v", seen)
	}
}

// formatted calls do for each field whose text has a notation.
func formatted(path string, s schema, do func(path string, s schema)) {
	if s.Format == "duration" || s.Format == "date-time" {
		do(path, s)
	}
	if s.Items != nil {
		formatted(path+"[]", *s.Items, do)
	}
	for name, p := range s.Properties {
		formatted(path+"."+name, p, do)
	}
}

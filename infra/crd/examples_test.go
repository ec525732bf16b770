package crd_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// othersOwn are the fields of a spec that belong to people and tools beside the object's owner. A manifest that sets
// them takes a pause or a stop away when it is applied again (S17: a fence that a pause or a stop holds does not begin).
var othersOwn = map[string]string{
	"FencePolicy.pauseRequests":    "pauseRequests",
	"FenceLedger.stop":             "stop",
	"FenceLedger.coolDownEnded":    "coolDownEnded",
	"FenceLedger.restoreConfirmed": "restoreConfirmed",
	"FenceLedger.lost":             "lost",
	"FenceLedger.stopChanged":      "stopChanged",
	"FencePolicy.pauseChanged.by":  "pauseChanged",
	"FencePolicy.pauseChanged.at":  "pauseChanged",
	// reason is optional there.
	"FencePolicy.pauseChanged.reason": "pauseChanged",
}

// TestNoShippedManifestSetsWhatOthersOwn: no example, no policy to start with, no manifest and no chart.
func TestNoShippedManifestSetsWhatOthersOwn(t *testing.T) {
	n := 0
	for _, top := range []string{"../../infra", "../../sources"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			ext := filepath.Ext(path)
			if err != nil || d.IsDir() || ext != ".yaml" && ext != ".tpl" || strings.HasPrefix(d.Name(), "nodefence.io_") || strings.Contains(path, "testdata") ||
				strings.HasSuffix(path, "crd/trusted/trusted.yaml") { // is applied by nobody: it lists what a test tries to write
				return err
			}
			n++
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				set, _, _ := strings.Cut(line, "#")
				if strings.HasPrefix(strings.TrimSpace(set), "message:") { // says why an admission policy refuses
					continue
				}
				for _, field := range othersOwn {
					if regexp.MustCompile(`(^|[{,\s"])` + field + `"?\s*:`).MatchString(set) {
						t.Errorf("%s sets %s, which belongs to others: %s", path, field, line)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 50 {
		t.Errorf("only %d files were read", n)
	}
}

// TestExamplesShowEveryField: what the owner of an object can set has an example.
func TestExamplesShowEveryField(t *testing.T) {
	shown := map[string]bool{}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range bytes.Split(text, []byte("\n---\n")) {
			var o struct {
				Kind string
				Spec map[string]any
			}
			if err := yaml.Unmarshal(doc, &o); err != nil {
				t.Errorf("%s: %v", f, err)
			}
			paths(shown, o.Kind, o.Spec)
		}
	}
	for kind, file := range map[string]string{"FencePolicy": "fencepolicies", "FenceBudget": "fencebudgets", "NodeProblemPolicy": "nodeproblempolicies", "FenceRequest": "fencerequests"} {
		for _, want := range leaves(kind, schemaOf(t, file).Properties["spec"]) {
			if !shown[want] && othersOwn[want] == "" {
				t.Errorf("no example shows %s", want)
			}
			delete(shown, want)
		}
	}
	for extra := range shown {
		ofTemplate := strings.HasPrefix(extra, "FenceRequestTemplate.template.spec.") // the fields of a FenceRequest
		if !ofTemplate && (strings.Count(extra, ".") == 0 || !strings.Contains(extra, "elector")) {
			t.Errorf("the examples have %s, which is no field", extra)
		}
	}
}

// paths are the fields that are set.
func paths(into map[string]bool, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if strings.HasSuffix(at, "elector") {
			into[at] = true
			return
		}
		if len(v) == 0 && strings.HasSuffix(at, ".device") {
			into[at] = true // it has no fields of its own
		}
		for k, x := range v {
			paths(into, at+"."+k, x)
		}
	case []any:
		into[at] = true
		for _, x := range v {
			if m, ok := x.(map[string]any); ok {
				delete(into, at)
				paths(into, at, m)
			}
		}
	default:
		into[at] = true
	}
}

// leaves are the fields that can be set.
func leaves(at string, s schema) []string {
	var all []string
	for name, p := range s.Properties {
		switch {
		case strings.HasSuffix(name, "elector"):
			all = append(all, at+"."+name)
		case p.Items != nil && len(p.Items.Properties) > 0:
			all = append(all, leaves(at+"."+name, *p.Items)...)
		case len(p.Properties) > 0:
			all = append(all, leaves(at+"."+name, p)...)
		default:
			all = append(all, at+"."+name)
		}
	}
	slices.Sort(all)
	return all
}

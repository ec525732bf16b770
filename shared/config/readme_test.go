package config

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/pages"
)

// TestReadme holds the users' pages to what is built: their examples resolve, and
// no two nodes of a page are one.
func TestReadme(t *testing.T) {
	for path, nodes := range map[string][]Node{
		"README.md":       {{Name: "worker-7"}, {Name: "worker-8", Type: "rack"}},
		"../../README.md": {{Name: "worker-7"}},
	} {
		t.Run(path, func(t *testing.T) { pageResolves(t, path, nodes) })
	}
}

func pageResolves(t *testing.T, path string, nodes []Node) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var maps []ConfigMap
	for _, b := range pages.Of(path, string(page)) {
		if b.Lang != "yaml" {
			continue
		}
		for _, doc := range b.Docs() {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
				Data     map[string]string
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			if o.Kind == "ConfigMap" {
				maps = append(maps, ConfigMap{Name: o.Metadata.Name, Data: o.Data})
			}
		}
	}
	s := settings()
	s.Agents["fence_ipmilan"] = "bmc"
	for _, n := range nodes {
		p, err := resolved(maps, n, s)
		if err != nil {
			t.Error(err)
			continue
		}
		if !has(p.Power, Off) || !has(p.Recovery, On) {
			t.Error(n.Name, "is not off and on:", p)
		}
		if err := duplicates(maps, nil, s, n, p.Binding); err != nil {
			t.Error(err)
		}
	}
}

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrewsManifest: one archive for each platform that is built, under the name that it is built
// under.
func TestKrewsManifest(t *testing.T) {
	text, err := os.ReadFile("krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version, ShortDescription, Caveats string
			Platforms                          []struct {
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	root := (&program{}).root()
	if "kubectl-"+m.Metadata.Name != root.Name() || m.Spec.ShortDescription != root.Short || m.Spec.Version != "VERSION" {
		t.Errorf("%+v", m)
	}
	if says := m.Spec.Caveats; !strings.Contains(says, "infra/INSTALL.md") || strings.Contains(says, "kubectl apply") {
		t.Errorf("kinds are upgraded with nodefence, and not by whoever installs the plugin: %s", says)
	}
	var got []string
	for _, p := range m.Spec.Platforms {
		on := p.Selector.MatchLabels.OS + "_" + p.Selector.MatchLabels.Arch
		bin := "kubectl-fence"
		if strings.HasPrefix(on, "windows") {
			bin += ".exe"
		}
		if p.URI != "https://github.com/nodefence/nodefence/releases/download/VERSION/kubectl-fence_"+on+".tar.gz" || p.SHA256 != "SHA256_"+on || p.Bin != bin {
			t.Errorf("%+v", p)
		}
		got = append(got, p.Selector.MatchLabels.OS+"/"+p.Selector.MatchLabels.Arch)
	}
	script, err := os.ReadFile("release")
	if err != nil {
		t.Fatal(err)
	}
	built := regexp.MustCompile(`(?m)^PLATFORMS="(.*)"$`).FindSubmatch(script)
	if want := strings.Fields(string(built[1])); !slices.Equal(got, want) {
		t.Errorf("Krew's platforms are %v, and built are %v", got, want)
	}
}

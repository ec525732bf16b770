package knative

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAdoptedWhereThereAreRights: component far has devices looked for in the namespaces in which it
// gives the rights to look, and in no other. Where the right is missing no node has a device.
func TestAdoptedWhereThereAreRights(t *testing.T) {
	roles, _ := rights(t, "components/far/rights.yaml")
	var listed []string
	for _, r := range roles {
		if r.Metadata.Name == "nodefence-far-devices" {
			listed = append(listed, r.Metadata.Namespace)
		}
	}
	looked := regexp.MustCompile(`NODEFENCE_ADOPT_NAMESPACES(?:, value: "|\n\s+value: )([^"\n]+)`)
	for file, want := range map[string]int{"components/far/kustomization.yaml": 2, "components/far/function.yaml": 1} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := looked.FindAllStringSubmatch(string(text), -1)
		if len(all) != want {
			t.Errorf("%s says %d times where, want %d", file, len(all), want)
		}
		for _, m := range all {
			if namespaces := strings.Split(m[1], ","); !slices.Equal(namespaces, listed) {
				t.Errorf("%s: looked for in %s, and the rights are in %s", file, namespaces, listed)
			}
		}
	}
}

package knative

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoImageIsLatest: what runs is what somebody named.
func TestNoImageIsLatest(t *testing.T) {
	image := regexp.MustCompile(`(?m)^\s*-?\s*(image|newTag):\s*"?([^\s"#]+)`)
	bare := map[string]bool{"nodefence": true, "nodefence-source": true} // each overlay gives them a tag
	tagged := map[string]bool{}
	for name, text := range manifests(t) {
		for _, m := range image.FindAllStringSubmatch(text, -1) {
			_, tag, has := strings.Cut(m[2], ":")
			switch {
			case m[1] == "newTag" && m[2] != "latest":
				tagged[filepath.Dir(name)] = true
			case m[1] == "newTag", tag == "latest", !has && !strings.Contains(m[2], "@") && !bare[m[2]]:
				t.Errorf("%s: image %s has no tag or digest of its own", name, m[2])
			}
		}
	}
	for _, o := range []string{"knative/overlays/serving", "knative/overlays/deployments"} {
		if !tagged[o] {
			t.Errorf("%s gives its images no tag", o)
		}
	}
}

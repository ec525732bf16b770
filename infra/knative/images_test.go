package knative

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoImageIsLatest: what runs is what somebody named.
func TestNoImageIsLatest(t *testing.T) {
	image := regexp.MustCompile(`(?m)^\s*-?\s*(image|newTag):\s*"?([^\s"#]+)`)
	bare := map[string]bool{"nodefence": true, "nodefence-local": true, "nodefence-source": true} // each overlay gives them a tag
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
	for _, o := range []string{"knative/overlays/serving", "knative/overlays/deployments", "standalone"} {
		if !tagged[o] {
			t.Errorf("%s gives its images no tag", o)
		}
	}
}

// TestImagesRunAsANumber: where a pod names no user, as on OpenShift, a kubelet starts an image with
// runAsNonRoot only if the image's user is a number, and not root's.
func TestImagesRunAsANumber(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range strings.Split(string(text), "\nFROM ")[1:] {
		runs := strings.Contains(stage, "\nENTRYPOINT ")
		users := regexp.MustCompile(`(?m)^USER (.*)$`).FindAllStringSubmatch(stage, -1)
		if !runs && len(users) == 0 {
			continue
		}
		if len(users) != 1 || !regexp.MustCompile(`^[1-9][0-9]*(:[0-9]+)?$`).MatchString(users[0][1]) {
			t.Errorf("the image that begins FROM %.20s has users %q", stage, users)
		}
	}
	if n := strings.Count(string(text), "\nENTRYPOINT "); n != 2 {
		t.Errorf("%d images, want the programs' and that with agents", n)
	}
}

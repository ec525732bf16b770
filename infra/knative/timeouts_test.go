package knative

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/functions"
)

// TestServingGivesAnInvocationWhatTheFunctionsAreTold: unless both are set otherwise, what Knative
// gives an invocation is what the functions take it for (S7, S10).
func TestServingGivesAnInvocationWhatTheFunctionsAreTold(t *testing.T) {
	text, err := os.ReadFile("overlays/serving/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`path: /spec/template/spec/timeoutSeconds\n\s+value: (\d+)`).FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("timeoutSeconds is set %d times", len(found))
	}
	seconds, err := strconv.Atoi(string(found[0][1]))
	if told := (functions.Settings{}).InvocationTimeout(); err != nil || time.Duration(seconds)*time.Second != told {
		t.Errorf("Knative gives an invocation %d s, and the functions are told %s (%v)", seconds, told, err)
	}
}

// TestSlowDevicesWithServing: the page's patch for Serving reaches the functions that components add as
// Deployments too. One that it leaves out takes calls for shorter than they are.
func TestSlowDevicesWithServing(t *testing.T) {
	page, err := os.ReadFile("../../functions/power/SLOW.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "With Knative Serving, an overlay")
	_, block, _ := strings.Cut(after, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var overlay struct {
		Patches []struct {
			Target struct{ Kind, Name string }
			Patch  string
		}
	}
	if err := yaml.Unmarshal([]byte(block), &overlay); err != nil || len(overlay.Patches) == 0 {
		t.Fatalf("%v in\n%s", err, block)
	}
	n := 0
	for file, text := range manifests(t) {
		for doc := range strings.SplitSeq(text, "\n---\n") {
			var d appsv1.Deployment
			if !strings.HasPrefix(file, "knative/components/") || yaml.Unmarshal([]byte(doc), &d) != nil || d.Kind != "Deployment" ||
				!slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "NODEFENCE_FUNCTION" }) {
				continue
			}
			n++
			set := ""
			for _, p := range overlay.Patches {
				if p.Target.Kind == "Deployment" && p.Target.Name == d.Name {
					set += p.Patch
				}
			}
			for _, variable := range []string{"NODEFENCE_DEVICE_CALL_TIMEOUT", "NODEFENCE_INVOCATION_TIMEOUT"} {
				if !strings.Contains(set, variable) {
					t.Errorf("the patch sets no %s of Deployment %s", variable, d.Name)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no component has a function that is a Deployment")
	}
}

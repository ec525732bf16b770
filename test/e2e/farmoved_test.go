package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/pages"
	"github.com/nodefence/nodefence/test/rig"
)

// TestItsWebhooksAreLeft: Fence Agents Remediation was stopped, and its webhook configurations were left.
// An Event says that no fence is asked for. The command of the page finds them, and once they are deleted the
// object is answered.
func TestItsWebhooksAreLeft(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.remediations()
	node := w.database(1)
	w.byFAR(node)
	o := w.far(node, "", nil)
	w.deadWebhooks(o)
	w.start(adopting)
	want := "[remediation] no fence is asked for: the API server refuses to add the object's finalizer, because webhook vfenceagentsremediation.kb.io does not answer. "
	if says := w.toldFAR(o, "RemediationCannotStart"); !strings.HasPrefix(says, want) {
		t.Errorf("the Event says %q, want %q", says, want)
	}
	if r, err := w.Fences.FenceRequest(w.ctx, o.Namespace, far.RequestName(o, node)); r != nil || err != nil {
		t.Errorf("it was asked for: %v, %v", r, err)
	}
	found := w.kubectl(w.pageBlock("functions/adopt/FAR.md", "kubectl get mutatingwebhookconfigurations"))
	if found != "MutatingWebhookConfiguration/of-far\nValidatingWebhookConfiguration/of-far\n" {
		t.Fatalf("the page's command finds %q", found)
	}
	w.kubectl("kubectl delete " + strings.Join(strings.Fields(found), " "))
	if got := w.followed(o); !strings.HasPrefix(got[len(got)-1], "False True True") {
		t.Errorf("it stands at %s", got)
	}
	w.phase(node, api.Finished)
	w.words(node, "off on")
	w.farGone(o)
	w.unmarked(node)
}

// deadWebhooks has the API server call the webhooks of Fence Agents Remediation, as its versions 0.4 to 0.6
// have them, where nothing answers. Another webhook beside them is not its own.
func (w *world) deadWebhooks(o *far.Object) {
	w.t.Helper()
	fail, none, nobody := admissionv1.Fail, admissionv1.SideEffectClassNone, "https://127.0.0.1:1/"
	to := admissionv1.WebhookClientConfig{URL: &nobody}
	rule := func(group, resource string) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource}},
		}}
	}
	hooks := w.Kube.AdmissionregistrationV1()
	_, err := hooks.MutatingWebhookConfigurations().Create(w.ctx, &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "of-far"},
		Webhooks:   []admissionv1.MutatingWebhook{{Name: "mfenceagentsremediationtemplate.kb.io", ClientConfig: to, Rules: rule(far.Group, "fenceagentsremediationtemplates"), FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
	}, metav1.CreateOptions{})
	must(w.t, err)
	for name, group := range map[string]string{"of-far": far.Group, "of-others": "example.com"} {
		_, err := hooks.ValidatingWebhookConfigurations().Create(w.ctx, &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks:   []admissionv1.ValidatingWebhook{{Name: "vfenceagentsremediation.kb.io", ClientConfig: to, Rules: rule(group, "fenceagentsremediations"), FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
		}, metav1.CreateOptions{})
		must(w.t, err)
	}
	w.until("the API server to call the webhook", func() (bool, error) {
		_, err := w.fars().Patch(w.ctx, o.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "failed calling webhook"), nil
	})
}

// pageBlock is the one block of a page that begins so.
func (w *world) pageBlock(page, begins string) string {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	text, err := os.ReadFile(filepath.Join(root, page))
	must(w.t, err)
	var found []string
	for _, b := range pages.Of(page, string(text)) {
		if strings.HasPrefix(b.Text, begins) {
			found = append(found, b.Text)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%s has %d blocks that begin with %q, want 1", page, len(found), begins)
	}
	return found[0]
}

// kubectl runs commands of a shell, with the lab's kubectl, and returns what they print.
func (w *world) kubectl(text string) string {
	w.t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		w.t.Skip("jq is missing: apt-get install jq")
	}
	lab, err := rig.Bin("nodefence-lab")
	must(w.t, err)
	cmd := exec.CommandContext(w.ctx, "bash", "--norc", "--noprofile", "-euo", "pipefail")
	cmd.Stdin = strings.NewReader("kubectl() { \"$LAB\" kubectl \"$@\" </dev/null; }\n" + text)
	cmd.Env = append(os.Environ(), "LAB="+lab, "KUBECONFIG="+w.Lab.Kubeconfig)
	var problems strings.Builder
	cmd.Stderr = &problems
	said, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %s", err, problems.String())
	}
	return string(said)
}

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestKindsThatAreOlderThanTheProgram: a write of fields that the API server would drop is
// refused, and the refusal says what to do. A lost intent would lead to a second call (S8).
func TestKindsThatAreOlderThanTheProgram(t *testing.T) {
	w := newWorld(t, 1, quick)
	const says = "older here than this program (kubectl apply --server-side -k infra/crd)"
	w.reshape("nodefences", "status.power", func(fields map[string]any) {
		if _, there := fields["offError"]; !there {
			t.Fatal("status.power.offError is not in the CRD")
		}
		delete(fields, "offError")
	})
	f, err := w.Fences.CreateFence(w.ctx, w.record("node-0"))
	must(t, err)
	w.until("the older kind to be served", func() (bool, error) {
		f.Status.Power.OffError = "x"
		saved, err := w.Fences.SaveFenceStatus(w.ctx, f)
		if err == nil {
			f = saved
			return false, nil
		}
		if m := err.Error(); strings.Contains(m, says) && strings.Contains(m, `"status.power.offError"`) {
			return true, nil
		}
		return false, err
	})
	w.reshape("fencepolicies", "status", func(fields map[string]any) { delete(fields, "heldCount") })
	w.until("the older kind of policies to be served", func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, "default")
		must(t, err)
		p.Status.HeldCount++
		err = w.Fences.SavePolicyStatus(w.ctx, p)
		if err == nil {
			return false, nil
		}
		if m := err.Error(); strings.HasSuffix(m, says+`: strict decoding error: unknown field "status.heldCount"`) {
			return true, nil
		}
		return false, err
	})
}

// TestKindsThatAreNewerThanTheProgram: fields that a newer program or a person has written,
// and that this program does not know, stay when this program writes: in a status, and in
// the requests of a fence, where they may be a brake.
func TestKindsThatAreNewerThanTheProgram(t *testing.T) {
	w := newWorld(t, 1, quick)
	text := map[string]any{"type": "string"}
	for kind, of := range map[string]string{"nodefences": "spec.requests", "fencepolicies": "status", "fencetargets": "status"} {
		w.reshape(kind, of, func(fields map[string]any) { fields["novel"] = text })
	}
	f := w.record("node-0")
	f.Spec.Requests.Abort = aborts("lab-admin")
	_, err := w.Fences.CreateFence(w.ctx, f)
	must(t, err)
	_, err = w.Fences.SaveTarget(w.ctx, &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}})
	must(t, err)
	for path, patch := range map[string]string{
		"nodefences/node-0": `{"spec":{"requests":{"novel":"x"}}}`, "fencepolicies/default/status": `{"status":{"novel":"x"}}`, "fencetargets/node-0/status": `{"status":{"novel":"x"}}`,
	} {
		w.until("the newer kind to be served: "+path, func() (bool, error) {
			raw, err := w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/" + path).Body([]byte(patch)).Do(w.ctx).Raw()
			return strings.Contains(string(raw), `"novel":"x"`), err
		})
	}

	f, err = w.Fences.Fence(w.ctx, "node-0")
	must(t, err)
	f, err = w.Fences.ClearRequests(w.ctx, f)
	must(t, err)
	if f.Spec.Requests != (api.Requests{}) || f.Spec.NodeName != "node-0" || len(f.Finalizers) != 1 {
		t.Errorf("%+v", f)
	}
	p, err := w.Fences.Policy(w.ctx, "default")
	must(t, err)
	p.Status.Held, p.Status.HeldCount = []api.HeldNode{{NodeName: "node-0", Reason: api.Paused}}, 1
	must(t, w.Fences.SavePolicyStatus(w.ctx, p))
	ft, err := w.Fences.Target(w.ctx, "node-0")
	must(t, err)
	ft.Status.HostHA = "SUSPECT"
	_, err = w.Fences.SaveTarget(w.ctx, ft)
	must(t, err)
	got := map[string]string{}
	for path, of := range map[string]string{"nodefences/node-0": "spec.requests", "fencepolicies/default": "status.held", "fencetargets/node-0": "status"} {
		raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/nodefence.io/v1alpha1/" + path).Do(w.ctx).Raw()
		must(t, err)
		var o map[string]any
		must(t, json.Unmarshal(raw, &o))
		words, err := json.Marshal(within(o, of))
		must(t, err)
		got[path] = string(words)
		if !strings.Contains(string(raw), `"novel":"x"`) {
			t.Errorf("%s has lost what is new", path)
		}
	}
	want := map[string]string{
		"nodefences/node-0": `{"novel":"x"}`, "fencepolicies/default": `[{"nodeName":"node-0","reason":"Paused"}]`, "fencetargets/node-0": `{"hostHA":"SUSPECT","novel":"x"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// reshape makes the API server serve a kind with other fields there.
func (w *world) reshape(plural, of string, change func(fields map[string]any)) {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	text, err := os.ReadFile(filepath.Join(root, "infra/crd/nodefence.io_"+plural+".yaml"))
	must(w.t, err)
	var crd map[string]any
	must(w.t, yaml.Unmarshal(text, &crd))
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	at := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	for _, name := range strings.Split(of, ".") {
		at = at["properties"].(map[string]any)[name].(map[string]any)
	}
	change(at["properties"].(map[string]any))
	changed, err := yaml.Marshal(crd)
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, string(changed)))
}

func within(o map[string]any, path string) any {
	var at any = o
	for _, name := range strings.Split(path, ".") {
		fields, _ := at.(map[string]any)
		at = fields[name]
	}
	return at
}

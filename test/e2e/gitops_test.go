package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestGitOpsKeepsWhatOthersOwn: the shipped policy and ledger are applied again, by each way of kubectl apply and as
// Flux applies, and so is the ledger that nodefence has made. The names in pauseRequests and the stop belong to
// others, and stay (S17: a fence that a pause or a stop holds does not begin). A manifest that names the field takes
// them away, which infra/GITOPS.md says.
func TestGitOpsKeepsWhatOthersOwn(t *testing.T) {
	w := newWorld(t, 1, quick)
	policy, ledger := w.readShipped("examples/policies.yaml", "by-zone"), w.readShipped("ledger/ledger.yaml", "cluster")
	ways := map[string]func(*unstructured.Unstructured) error{
		"client-side": w.applyClientSide,
		"server-side": func(u *unstructured.Unstructured) error { return w.applyServerSide(u, false) },
		"by force":    func(u *unstructured.Unstructured) error { return w.applyServerSide(u, true) },
		"by Flux":     w.applyAsFlux,
	}
	made := maps.Clone(ways)
	made["by nodefence"] = func(*unstructured.Unstructured) error { _, err := w.Fences.Ledger(w.ctx); return err }
	for made, first := range made {
		for again, apply := range ways {
			for _, shipped := range []*unstructured.Unstructured{policy, ledger} {
				u := shipped.DeepCopy()
				if shipped == policy && made == "by nodefence" {
					continue
				}
				w.deleteObject(u)
				must(t, first(u))
				w.setBrake(u, cluster.FieldManager)
				for _, version := range []string{"1", "2"} {
					labels := u.GetLabels()
					if labels == nil {
						labels = map[string]string{}
					}
					labels["app.kubernetes.io/version"] = version
					u.SetLabels(labels)
					if err := apply(u); !apierrors.IsConflict(err) { // another manager's fields are refused without force
						must(t, err)
					}
				}
				if d := cmp.Diff(braked[u.GetKind()], w.readBrakes(u)); d != "" {
					t.Errorf("%s made %s, applied again %s: %s", u.GetKind(), made, again, d)
				}
			}
		}
	}

	// What infra/GITOPS.md warns of.
	named := policy.DeepCopy()
	must(t, unstructured.SetNestedSlice(named.Object, []any{}, "spec", "pauseRequests"))
	for what, c := range map[string]struct {
		manager string
		first   func() error
		then    func() error
		want    map[string]any
	}{
		"a manifest that names the field":         {cluster.FieldManager, func() error { return w.applyClientSide(named) }, func() error { return w.applyClientSide(named) }, map[string]any{"pauseRequests": []any{}}},
		"a manifest that named it before":         {cluster.FieldManager, func() error { return w.applyClientSide(named) }, func() error { return w.applyClientSide(policy) }, map[string]any{}},
		"that, after its annotation is taken off": {cluster.FieldManager, func() error { return w.applyClientSide(named) }, func() error { w.forgetLastApplied(policy); return w.applyClientSide(policy) }, braked["FencePolicy"]},
		"kubectl replace":                         {cluster.FieldManager, func() error { return w.applyClientSide(policy) }, func() error { return w.replaceWhole(policy) }, map[string]any{}},
		"kubectl patch, under Flux":               {"kubectl-patch", func() error { return w.applyAsFlux(policy) }, func() error { return w.applyAsFlux(policy) }, map[string]any{}},
		"that, with annotation ssa: Merge":        {"kubectl-patch", func() error { return w.applyAsFlux(withMerge(policy)) }, func() error { return w.applyAsFlux(withMerge(policy)) }, braked["FencePolicy"]},
	} {
		w.deleteObject(policy)
		must(t, c.first())
		w.setBrake(policy, c.manager)
		must(t, c.then())
		if d := cmp.Diff(c.want, w.readBrakes(policy)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// braked is what others have set, by kind.
var braked = map[string]map[string]any{
	"FencePolicy": {"pauseRequests": []any{"upgrade"}},
	"FenceLedger": {"stop": true},
}

// ssa is the annotation by which Flux knows how an object is applied.
const ssa = "kustomize.toolkit.fluxcd.io/ssa"

// withMerge is the object with Flux's annotation that keeps what others have added.
func withMerge(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetAnnotations(map[string]string{ssa: "Merge"})
	return u
}

// readShipped reads an object of a file of infra/crd.
func (w *world) readShipped(file, name string) *unstructured.Unstructured {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "infra", "crd", file))
	must(w.t, err)
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		u := &unstructured.Unstructured{}
		must(w.t, yaml.Unmarshal([]byte(doc), &u.Object))
		if u.Object != nil && u.GetName() == name {
			return u
		}
	}
	w.t.Fatalf("%s has no %s", file, name)
	return nil
}

func (w *world) deleteObject(u *unstructured.Unstructured) {
	w.t.Helper()
	if err := w.kind(u.GetKind()).Delete(w.ctx, u.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		must(w.t, err)
	}
}

// setBrake writes into an object what others own, in the name of that manager.
func (w *world) setBrake(u *unstructured.Unstructured, manager string) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"spec": braked[u.GetKind()]})
	must(w.t, err)
	_, err = w.kind(u.GetKind()).Patch(w.ctx, u.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
	must(w.t, err)
}

// readBrakes reads the fields of an object that others own, as they stand.
func (w *world) readBrakes(u *unstructured.Unstructured) map[string]any {
	w.t.Helper()
	is, err := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
	must(w.t, err)
	spec, _, err := unstructured.NestedMap(is.Object, "spec")
	must(w.t, err)
	maps.DeleteFunc(spec, func(field string, _ any) bool { _, others := braked[u.GetKind()][field]; return !others })
	if spec == nil {
		spec = map[string]any{}
	}
	return spec
}

// replaceWhole is kubectl replace.
func (w *world) replaceWhole(u *unstructured.Unstructured) error {
	is, err := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
	must(w.t, err)
	next := u.DeepCopy()
	next.SetResourceVersion(is.GetResourceVersion())
	_, err = w.kind(u.GetKind()).Update(w.ctx, next, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
	return err
}

// forgetLastApplied takes off the annotation by which kubectl apply knows what it has applied.
func (w *world) forgetLastApplied(u *unstructured.Unstructured) {
	w.t.Helper()
	body := []byte(`{"metadata":{"annotations":{"` + lastApplied + `":null}}}`)
	_, err := w.kind(u.GetKind()).Patch(w.ctx, u.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: "kubectl-annotate"})
	must(w.t, err)
}

// applyAsFlux is how Flux's kustomize-controller applies an object, read from its source: unless the annotation says
// Merge, what any manager whose name begins with kubectl has written becomes its own, and with that what the manifest
// does not name is removed. Then follows a server-side apply by force.
func (w *world) applyAsFlux(u *unstructured.Unstructured) error {
	const flux = "kustomize-controller"
	is, err := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
	if err == nil && u.GetAnnotations()[ssa] != "Merge" {
		var theirs, kept []metav1.ManagedFieldsEntry
		fields := map[string]any{}
		for _, e := range is.GetManagedFields() {
			undone := strings.HasPrefix(e.Manager, "kubectl") || e.Manager == "before-first-apply" || e.Manager == flux
			if undone && e.Subresource == "" {
				var these map[string]any
				must(w.t, json.Unmarshal(e.FieldsV1.GetRawBytes(), &these))
				joinFields(fields, these)
				theirs = append(theirs, e)
				continue
			}
			kept = append(kept, e)
		}
		if len(theirs) > 0 {
			raw, err := json.Marshal(fields)
			must(w.t, err)
			own := theirs[0]
			own.Manager, own.Operation, own.FieldsV1 = flux, metav1.ManagedFieldsOperationApply, &metav1.FieldsV1{}
			must(w.t, own.FieldsV1.UnmarshalJSON(raw))
			body, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/metadata/managedFields", "value": append(kept, own)}})
			must(w.t, err)
			_, err = w.kind(u.GetKind()).Patch(w.ctx, u.GetName(), types.JSONPatchType, body, metav1.PatchOptions{})
			must(w.t, err)
		}
	}
	_, err = w.kind(u.GetKind()).Apply(w.ctx, u.GetName(), u.DeepCopy(), metav1.ApplyOptions{FieldManager: flux, Force: true})
	return err
}

// joinFields adds the fields of one tree to another.
func joinFields(to, from map[string]any) {
	for k, v := range from {
		was, both := to[k].(map[string]any)
		is, tree := v.(map[string]any)
		if both && tree {
			joinFields(was, is)
			continue
		}
		to[k] = v
	}
}

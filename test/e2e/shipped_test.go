package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/yaml"
)

// shippedLedger: everything can be stopped before nodefence has run for the first time. A
// user who applies the shipped ledger again, for example in an upgrade, takes no stop off,
// whichever way of `kubectl apply` is used, and however the ledger was made. The test
// leaves the world stopped.
func shippedLedger(t *testing.T, w *world) {
	text, err := os.ReadFile(filepath.Join("..", "..", "infra", "crd", "ledger", "ledger.yaml"))
	must(t, err)
	var shipped, later unstructured.Unstructured
	must(t, yaml.Unmarshal(text, &shipped.Object))
	later.Object = shipped.DeepCopy().Object
	later.SetLabels(map[string]string{"app.kubernetes.io/version": "2"})
	created := func(u *unstructured.Unstructured) error {
		_, err := w.kind("FenceLedger").Create(w.ctx, u.DeepCopy(), metav1.CreateOptions{FieldManager: "nodefence"})
		return err
	}
	ways := map[string]func(*unstructured.Unstructured) error{
		"client-side": w.applyClientSide,
		"server-side": func(u *unstructured.Unstructured) error { return w.applyServerSide(u, false) },
		"by force":    func(u *unstructured.Unstructured) error { return w.applyServerSide(u, true) },
	}
	for made, first := range map[string]func(*unstructured.Unstructured) error{
		"client-side": ways["client-side"], "server-side": ways["server-side"], "by nodefence": created,
	} {
		for again, apply := range ways {
			if err := w.kind("FenceLedger").Delete(w.ctx, shipped.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				must(t, err)
			}
			must(t, first(&shipped))
			if w.stopped(shipped.GetName()) {
				t.Errorf("made %s, it stops everything by itself", made)
			}
			w.stop(true)
			for _, u := range []*unstructured.Unstructured{&shipped, &later} {
				if err := apply(u); err != nil {
					t.Errorf("made %s, applied again %s: %v", made, again, err)
				}
				if !w.stopped(shipped.GetName()) {
					t.Errorf("made %s, applied again %s with the labels %v: it lets everything go on", made, again, u.GetLabels())
				}
			}
		}
	}
}

// stopped: spec.stop is set.
func (w *world) stopped(ledger string) bool {
	w.t.Helper()
	l, err := w.kind("FenceLedger").Get(w.ctx, ledger, metav1.GetOptions{})
	must(w.t, err)
	stop, _, err := unstructured.NestedBool(l.Object, "spec", "stop")
	must(w.t, err)
	return stop
}

// applyServerSide is `kubectl apply --server-side`, and with --force-conflicts.
func (w *world) applyServerSide(u *unstructured.Unstructured, force bool) error {
	_, err := w.kind(u.GetKind()).Apply(w.ctx, u.GetName(), u.DeepCopy(), metav1.ApplyOptions{FieldManager: "kubectl", Force: force})
	return err
}

// applyClientSide is `kubectl apply` of an object of one of our kinds: the three-way merge of
// what was applied last, which the object keeps in an annotation, what is applied now, and
// what is there.
func (w *world) applyClientSide(u *unstructured.Unstructured) error {
	u = u.DeepCopy()
	kept, err := json.Marshal(u)
	must(w.t, err)
	u.SetAnnotations(map[string]string{lastApplied: string(kept) + "\n"})
	is, err := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = w.kind(u.GetKind()).Create(w.ctx, u, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
		return err
	}
	must(w.t, err)
	modified, err := json.Marshal(u)
	must(w.t, err)
	current, err := json.Marshal(is)
	must(w.t, err)
	var original []byte
	if was := is.GetAnnotations()[lastApplied]; was != "" {
		original = []byte(was)
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
	must(w.t, err)
	if string(patch) == "{}" {
		return nil
	}
	_, err = w.kind(u.GetKind()).Patch(w.ctx, u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-client-side-apply"})
	return err
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

package e2e

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/apitable"
)

// tables checks that each row of testdata/api is accepted or refused as the row says, and that an
// unknown field is named.
func tables(t *testing.T, w *world) {
	for _, table := range apitable.Read(t, "testdata/api") {
		for _, r := range table.Rows {
			var said string
			if r.Was != nil {
				_, err := w.dryRun(table.Object(r, r.Was), false)
				must(t, err)
			}
			if _, err := w.dryRun(table.Object(r, r.Spec), true); err != nil {
				if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
					t.Fatal(err)
				}
				said = err.Error()
			}
			if (said == "") != (r.Says == "") || !strings.Contains(said, r.Says) {
				t.Errorf("%s, %s: the API server says %q, want %q", table.Kind, r, said, r.Says)
			}
			if r.Was != nil {
				must(t, w.remove(table.Object(r, r.Was)))
			}
		}
	}
}

// leftOut checks that a field that a Go client leaves out gets the same value as in YAML without
// it.
func leftOut(t *testing.T, w *world) {
	apitable.LeftOut(t, apitable.Read(t, "testdata/api"), func(object map[string]any) (map[string]any, error) {
		made, err := w.dryRun(object, true)
		if err != nil {
			return nil, err
		}
		spec, _ := made.Object["spec"].(map[string]any)
		return spec, nil
	})
}

// dryRun sends an object as strictly as kubectl does, as a dry run or for real.
func (w *world) dryRun(object map[string]any, dry bool) (*unstructured.Unstructured, error) {
	w.t.Helper()
	var u unstructured.Unstructured
	must(w.t, apitable.Into(&u.Object, object))
	var only []string
	if dry {
		only = []string{metav1.DryRunAll}
	}
	made, err := w.kind(u.GetKind()).Create(w.ctx, &u, metav1.CreateOptions{DryRun: only, FieldValidation: metav1.FieldValidationStrict})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	w.until("nodefence to leave "+u.GetName()+" alone between two requests", func() (bool, error) {
		is, getting := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
		if getting != nil {
			return false, getting
		}
		u.SetResourceVersion(is.GetResourceVersion())
		made, err = w.kind(u.GetKind()).Update(w.ctx, &u, metav1.UpdateOptions{DryRun: only, FieldValidation: metav1.FieldValidationStrict})
		return !apierrors.IsConflict(err), nil
	})
	return made, err
}

// remove returns when the object is gone: nodefence holds some until it has seen to them.
func (w *world) remove(object map[string]any) error {
	u := unstructured.Unstructured{Object: object}
	if err := w.kind(u.GetKind()).Delete(w.ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	w.until(u.GetName()+" to be gone", func() (bool, error) {
		_, err := w.kind(u.GetKind()).Get(w.ctx, u.GetName(), metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	return nil
}

// kind is a client for the objects of one kind.
func (w *world) kind(kind string) dynamic.ResourceInterface {
	w.t.Helper()
	c, err := dynamic.NewForConfig(w.Config)
	must(w.t, err)
	plural := strings.ToLower(kind) + "s"
	if one, ok := strings.CutSuffix(plural, "ys"); ok {
		plural = one + "ies"
	}
	of := c.Resource(api.GroupVersion.WithResource(plural))
	if strings.HasPrefix(kind, "FenceRequest") {
		return of.Namespace("nodefence-system") // the only kinds that have one
	}
	return of
}

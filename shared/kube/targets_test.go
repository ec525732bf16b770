package kube

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestSaveTarget: it is created once, and written by whoever read it last.
func TestSaveTarget(t *testing.T) {
	f := newFakeAPI(t)
	made, err := f.SaveTarget(t.Context(), &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.SaveTarget(t.Context(), &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); !errors.Is(err, ErrConflict) {
		t.Errorf("created twice: %v", err)
	}
	old := made.DeepCopy()
	made.Status.Claim = &api.TargetClaim{Holder: "me"}
	if made, err = f.SaveTarget(t.Context(), made); err != nil || made.Status.Claim == nil {
		t.Fatal(err)
	}
	if _, err := f.SaveTarget(t.Context(), old); !errors.Is(err, ErrConflict) {
		t.Errorf("claimed twice: %v", err)
	}
}

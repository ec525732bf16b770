package kube

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestSaveTarget: it is created once, and only a writer that has read its latest version writes
// its status.
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

// TestAClaimIsTakenOnce: between a FenceTarget's creation and its first status another process
// may claim. The process that created it then has no claim (S7).
func TestAClaimIsTakenOnce(t *testing.T) {
	f := newFakeAPI(t)
	second := f.client()
	claim := func(c *Client, ft *api.FenceTarget, who string) error {
		ft.Status.Claim = &api.TargetClaim{Holder: who}
		_, err := c.SaveTarget(t.Context(), ft)
		return err
	}
	writes := 0
	f.before = func(f *fakeAPI) {
		if writes++; writes != 2 {
			return
		}
		ft, err := second.Target(t.Context(), "a")
		if err != nil || ft == nil || ft.Status.Claim != nil {
			t.Fatalf("%+v, %v", ft, err)
		}
		if err := claim(second, ft, "second"); err != nil {
			t.Fatal(err)
		}
	}
	if err := claim(f.Client, &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "first"); !errors.Is(err, ErrConflict) {
		t.Errorf("claimed twice: %v", err)
	}
	if ft, err := f.Target(t.Context(), "a"); err != nil || ft.Status.Claim == nil || ft.Status.Claim.Holder != "second" {
		t.Errorf("%+v, %v", ft, err)
	}
	for _, r := range f.writes() {
		if r.Method != http.MethodPost && !strings.HasSuffix(r.Path, "/status") {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
}

// TestSaveHostHA leaves a claim as it is, and needs no compare-and-swap.
func TestSaveHostHA(t *testing.T) {
	f := newFakeAPI(t)
	f.set(targetsPath+"/a", `{"metadata": {"name": "a"}, "status": {"claim": {"holder": "me"}}}`)
	for _, node := range []string{"a", "gone"} {
		if err := f.SaveHostHA(t.Context(), node, api.HostHASuspect); err != nil {
			t.Error(err)
		}
	}
	if ft, err := f.Target(t.Context(), "a"); err != nil || ft.Status.HostHA != api.HostHASuspect || ft.Status.Claim.Holder != "me" {
		t.Errorf("%+v, %v", ft, err)
	}
}

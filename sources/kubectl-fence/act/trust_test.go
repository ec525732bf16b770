package act

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestTrust: the statement names the refutation that the person was shown, and is refused where nothing is refuted,
// where the device is trusted already, and without a reason (S1).
func TestTrust(t *testing.T) {
	refuted := func(f *api.NodeFence) {
		f.Status.Refuted = &api.Refutation{At: *hour(10), FenceNumber: 2, Device: "ipmi 10.0.0.7", Level: 1, BootID: "b", ProvenAt: *hour(9)}
	}
	for name, tc := range map[string]struct {
		of  func(*api.NodeFence)
		who Person
		err string
	}{
		"a cut is refuted": {refuted, ann, ""},
		"none is":          {func(*api.NodeFence) {}, ann, "node worker-7: no power cut of it is refuted"},
		"no reason":        {refuted, Person{Name: "ann", At: ann.At}, "say what you have found"},
		"it is trusted already": {func(f *api.NodeFence) {
			refuted(f)
			f.Spec.Trust = &api.Trust{By: "bob", RefutedAt: *hour(10)}
		}, ann, "node worker-7: no power cut of it is refuted"},
		"an earlier one is trusted": {func(f *api.NodeFence) {
			refuted(f)
			f.Spec.Trust = &api.Trust{By: "bob", RefutedAt: *hour(8)}
		}, ann, ""},
	} {
		f := &api.NodeFence{}
		f.Name, f.UID, f.ResourceVersion, f.Status.FenceNumber = "worker-7", "u", "5", 2
		tc.of(f)
		c, err := Trust(f, tc.who)
		if tc.err != "" || err != nil {
			if err == nil || tc.err == "" || !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := `{"metadata":{"resourceVersion":"5","uid":"u"},"spec":{"trust":{"by":"ann","at":"2026-01-01T12:00:00Z","reason":"seen dark","refutedAt":"2026-01-01T10:00:00.123456Z"}}}`
		if d := cmp.Diff(want, patch(t, c)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if !strings.Contains(c.Words(), "ipmi 10.0.0.7 (level 1) read off twice until 2026-01-01T09:00:00Z") {
			t.Errorf("%s: %s", name, c.Words())
		}
	}
}

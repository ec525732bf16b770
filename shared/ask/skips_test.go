package ask

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestTwoAreWithdrawnThatWantedNoDrain, one after the other, before anybody has looked at the record:
// neither wish is lost by the other's mark.
func TestTwoAreWithdrawnThatWantedNoDrain(t *testing.T) {
	f := record(api.Pending, by("x", "u", "v"), nil)
	for i := 1; i < 3; i++ {
		f.Status.Decision.AskedBy[i].Drain = api.DrainSkip
	}
	f.Annotations = map[string]string{api.WithdrawnSkipAnnotation: "old"}
	for _, step := range []struct{ uid, want string }{{"v", "v"}, {"u", "v,u"}, {"u", "v,u"}} {
		if f.Annotations[api.WithdrawnSkipAnnotation] = f.WithSkipWithdrawn(step.uid); f.Annotations[api.WithdrawnSkipAnnotation] != step.want {
			t.Errorf("%s: marked %q, want %q", step.uid, f.Annotations[api.WithdrawnSkipAnnotation], step.want)
		}
	}
	r := &api.FenceRequest{}
	r.Namespace, r.Name, r.UID = "n", "a", "u"
	for uid, want := range map[string]bool{"v,u": false, "v": true, "": true} {
		f.Annotations[api.WithdrawnSkipAnnotation] = uid
		if got := (Seen{Request: r, Fence: f}).skips(&f.Status); got != want {
			t.Errorf("marked %q: to be marked %v", uid, got)
		}
	}
}

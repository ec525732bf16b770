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
	f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "old"}
	for _, step := range []struct{ uid, want string }{{"v", "v"}, {"u", "v,u"}, {"u", "v,u"}} {
		if f.Annotations[api.WithdrawnAskersAnnotation] = f.WithAskerWithdrawn(step.uid); f.Annotations[api.WithdrawnAskersAnnotation] != step.want {
			t.Errorf("%s: marked %q, want %q", step.uid, f.Annotations[api.WithdrawnAskersAnnotation], step.want)
		}
	}
	r := &api.FenceRequest{}
	r.Namespace, r.Name, r.UID = "n", "a", "u"
	for uid, want := range map[string]bool{"v,u": false, "v": true, "": true} {
		f.Annotations[api.WithdrawnAskersAnnotation] = uid
		if got := (Seen{Request: r, Fence: f}).outlived(&f.Status); got != want {
			t.Errorf("marked %q: to be marked %v", uid, got)
		}
	}
}

package report

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// heard keeps what is posted.
type heard struct{ events []kube.Event }

func (h *heard) PostEvent(_ context.Context, e kube.Event) error {
	h.events = append(h.events, e)
	return nil
}

// TestWhatIsToldOfAFenceTarget: an Event when a node can't be fenced any more, for
// another reason than before, or again; none for what was said already.
func TestWhatIsToldOfAFenceTarget(t *testing.T) {
	target := func(status metav1.ConditionStatus, why api.Reason) *api.FenceTarget {
		ft := &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: api.FenceTargetStatus{NodeUID: "u"}}
		if status != "" {
			ft.Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: status, Reason: string(why), Message: "words"}}
		}
		return ft
	}
	well, dead, denied := target("True", api.DeviceAnswers), target("False", api.DeviceUnreachable), target("False", api.DeviceDenied)
	bad := func(why api.Reason) []kube.Event {
		return []kube.Event{{Kind: "Node", APIVersion: "v1", Name: "n", UID: "u", Warning: true, Reason: string(why), Message: "this node could not be fenced now: words", Reporter: "power"}}
	}
	for name, c := range map[string]struct {
		before, after *api.FenceTarget
		want          []kube.Event
	}{
		"well from the first":         {target("", ""), well, nil},
		"well, still":                 {well, well, nil},
		"bad from the first":          {target("", ""), dead, bad(api.DeviceUnreachable)},
		"bad now":                     {well, dead, bad(api.DeviceUnreachable)},
		"bad, still":                  {dead, dead, nil},
		"bad for another reason":      {dead, denied, bad(api.DeviceDenied)},
		"one of two was not read yet": {target("", ""), target("Unknown", api.NotCheckedYet), nil},
		"well again": {dead, well, []kube.Event{{Kind: "Node", APIVersion: "v1", Name: "n", UID: "u", Reason: string(api.DeviceAnswers),
			Message: "this node can be fenced again: words", Reporter: "power"}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &heard{}
			New(slog.New(slog.DiscardHandler), h, prometheus.NewRegistry()).Checked(t.Context(), Check{Function: "power", Before: c.before, Target: c.after})
			if d := cmp.Diff(c.want, h.events); d != "" {
				t.Error(d)
			}
		})
	}
}

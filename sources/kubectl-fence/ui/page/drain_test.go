package page

import (
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestDrainMarks: the timeline has when the drain began and ended, and the fence how it ended.
func TestDrainMarks(t *testing.T) {
	for end, want := range map[api.DrainEnd]string{
		"":                  "Its pods are asked to leave; 2 pods are left: pod a/p, held by a budget.",
		api.DrainEmpty:      "Nothing was left that had to leave, after 20s.",
		api.DrainTimeIsOver: "Its time was over after 20s, and the fence went on; 2 pods were left: pod a/p, held by a budget.",
		api.DrainGivenUp:    "Its time was over after 20s, and the fence was given up; 2 pods were left: pod a/p, held by a budget.",
		api.DrainSilent:     "The node fell silent after 20s; 2 pods were left: pod a/p, held by a budget.",
		api.DrainSkipped:    "It was ended after 20s, because somebody wants none, or says that the machine is off; 2 pods were left: pod a/p, held by a budget.",
	} {
		f := fence("b1", api.Draining, "", "")
		f.Status.Drain = &api.DrainRecord{BeganAt: *at(-50 * time.Second), Ended: end, PodsLeft: 2, Left: "pod a/p, held by a budget"}
		marks := "+10s Drain began"
		if end != "" {
			f.Status.Drain.EndedAt = at(-30 * time.Second)
			marks += ", +30s Drain ended: " + string(end)
		}
		if end == api.DrainEmpty {
			f.Status.Drain.PodsLeft, f.Status.Drain.Left = 0, ""
		}
		l := cluster()
		got := fenceOf(l, &f)
		var words []string
		for _, m := range got.Marks {
			words = append(words, m.After+" "+m.What)
		}
		if g := strings.Join(words, ", "); g != marks || got.Drain != want {
			t.Errorf("%q: %s; %s", end, g, got.Drain)
		}
		l.Fences[0] = f
		n, err := NewNode(l, "b1")
		if err != nil || !strings.Contains(whole(t, l, n), "<dt>Drain</dt><dd>"+want) {
			t.Errorf("%q: the page does not say so: %v", end, err)
		}
	}
}

package fence

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	lostJoin = "S7: a request that joined is not lost while it counts"
	toldOnce = "S28: the history tells once of a request that joins"
)

// brokenGates answer wrongly to a request that comes.
var brokenGates = map[string]struct {
	promise string
	gate    joiner
}{
	"lets a request join the fence of another Node": {"S6: a request never joins the fence of another Node object", joiner{func(f *api.NodeFence, _ types.UID) string {
		return Ends(f, f.Status.Decision.NodeUID)
	}, Join}},
	"takes a fence that is sent back for one that ends": {"S18: a fence of which a request was told that it ends does end", joiner{func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Recovering && !f.Status.RequestServed && !f.Status.Power.SwitchedByUs && f.Status.Release.StartedAt == nil {
			return "it ends"
		}
		return Ends(f, node)
	}, Join}},
	"lets a request join a fence that is being undone": {lostJoin, joiner{func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Recovering && f.Status.Decision.NodeUID == node {
			return ""
		}
		return Ends(f, node)
	}, Join}},
	"lets a request join a fence that gives access back and ends": {lostJoin, joiner{func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Restoring && f.Status.Decision.NodeUID == node {
			return ""
		}
		return Ends(f, node)
	}, Join}},
	"has a request take over the fence": {"S7: a request that joins changes nothing but who asked", joiner{Ends, func(f *api.NodeFence, r api.FenceRequest) string {
		f.Status.FenceNumber++
		return Join(f, r)
	}}},
	"has a request end the wait of the gate": {"S7: a request that joins changes nothing but who asked", joiner{Ends, func(f *api.NodeFence, r api.FenceRequest) string {
		f.Status.NextLook = nil
		return Join(f, r)
	}}},
	"forgets the request that joined before": {"S7: a request that joined is used up, also when the next fence opens", joiner{Ends, func(f *api.NodeFence, r api.FenceRequest) string {
		words := Join(f, r)
		f.Status.Decision.Trigger.Merged = f.Status.Decision.Trigger.Merged[max(0, len(f.Status.Decision.Trigger.Merged)-1):]
		f.Status.Decision.Trigger.Request = nil
		return words
	}}},
}

// brokenJoins are Decides that do wrong with a request that has joined.
var brokenJoins = map[string]twin{
	"tells of a request again and again": {toldOnce, before(func(f *api.NodeFence, _ *Seen, _ time.Time) { f.Status.Request, f.Status.Merged = "", nil })},
	"says nothing of a request that joined": {toldOnce, after(func(st *api.NodeFenceStatus, _ Action, _ time.Time) {
		st.History = slices.DeleteFunc(slices.Clone(st.History), func(h api.HistoryEntry) bool { return h.Reason == api.RequestMerged })
	})},
	"never finds a request that joined old": {"S17: a request is carried out within a quarter of an hour or never", before(func(f *api.NodeFence, _ *Seen, now time.Time) {
		if r := f.Status.Decision.Trigger.Request; r != nil {
			q, at := *r, stampOf(now)
			q.MergedAt = &at
			f.Status.Decision.Trigger.Request = &q
		}
	})},
	"finds a request as old as the fence that it joined": {lostJoin, before(func(f *api.NodeFence, _ *Seen, now time.Time) {
		if r := f.Status.Decision.Trigger.Request; r != nil && f.Status.OpenedAt != nil && now.Sub(f.Status.OpenedAt.Time) > 20*time.Second {
			q, at := *r, metav1.NewMicroTime(walkStart.Add(-time.Hour))
			q.MergedAt, f.Status.Decision.Trigger.Merged = &at, nil
			f.Status.Decision.Trigger.Request = &q
		}
	})},
	"says that a request which it carried out has expired": {"S28: of what was carried out nobody says that it was not begun", after(func(st *api.NodeFenceStatus, _ Action, _ time.Time) {
		if st.Outcome == api.Healed && st.Request != "" {
			st.Outcome = api.RequestExpired
		}
	})},
	"ends a fence that a request joins": {"S18: a request ends no fence", func(f *api.NodeFence, s Seen, now time.Time) (api.NodeFenceStatus, Action) {
		g := *f
		if f.Status.Decision.Trigger.Request != nil {
			s.Node.Conditions = []Condition{{Type: "Ready", Status: "True", Since: walkStart}}
			g.Status.Decision.Trigger.Request = nil
		}
		return Decide(&g, s, now)
	}},
	"goes on for a request that came after the power was cut": {"S25: a request that comes once power was cut changes nothing of the fence", before(func(f *api.NodeFence, s *Seen, _ time.Time) {
		if len(f.Status.Decision.Trigger.Merged) > 0 && f.Status.Phase == api.Recovering {
			s.Node.Conditions = []Condition{{Type: "Ready", Status: "Unknown", Since: walkStart}}
		}
	})},
	"forgets what joined when the next fence opens": {"S7: a request that joined is used up, also when the next fence opens", onOpening(func(_, st *api.NodeFenceStatus) {
		st.Past[len(st.Past)-1].Request, st.Past[len(st.Past)-1].Merged = "", nil
	})},
}

func TestEveryBrokenJoinIsCaught(t *testing.T) {
	t.Parallel()
	specs := []given{joinedSpec(), joinedFabricSpec()}
	for name, x := range brokenJoins {
		t.Run(name, func(t *testing.T) {
			mustCatch(t, x.promise, func() *walker { return joinedWalker(x.decide, joiner{Ends, Join}) }, specs...)
		})
	}
	for name, x := range brokenGates {
		t.Run(name, func(t *testing.T) {
			mustCatch(t, x.promise, func() *walker { return joinedWalker(Decide, x.gate) }, specs...)
		})
	}
}

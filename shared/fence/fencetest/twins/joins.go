package twins

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

const (
	lostJoin = "S7: a request that joined is not lost while it counts"
	toldOnce = "S28: the history tells once of a request that joins"
	usedUp   = "S7: a request that joined is used up, also when the next fence opens"
)

// brokenGates answer wrongly to a request that comes.
var brokenGates = map[string]struct {
	promise string
	gate    walk.Gate
}{
	"lets a request join the fence of another Node": {"S6: a request never joins the fence of another Node object", walk.Gate{Ends: func(f *api.NodeFence, _ types.UID) string {
		return fence.Ends(f, f.Status.Decision.NodeUID)
	}}},
	"takes a fence that is sent back for one that ends": {"S18: a fence of which a request was told that it ends does end", walk.Gate{Ends: func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Recovering && !f.Status.CutOrReleased && !f.Status.Power.SwitchedByUs && f.Status.Release.StartedAt == nil {
			return "it ends"
		}
		return fence.Ends(f, node)
	}}},
	"lets a request join a fence that is being undone": {lostJoin, walk.Gate{Ends: func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Recovering && f.Status.Decision.NodeUID == node {
			return ""
		}
		return fence.Ends(f, node)
	}}},
	"lets a request join a fence that gives access back and ends": {lostJoin, walk.Gate{Ends: func(f *api.NodeFence, node types.UID) string {
		if f.Status.Phase == api.Restoring && f.Status.Decision.NodeUID == node {
			return ""
		}
		return fence.Ends(f, node)
	}}},
	"has a request take over the fence": {"S7: a request that joins changes nothing but who asked", walk.Gate{Join: func(f *api.NodeFence, r api.AskedBy) string {
		f.Status.FenceNumber++
		return fence.Join(f, r)
	}}},
	"has a request end the wait of the gate": {"S7: a request that joins changes nothing but who asked", walk.Gate{Join: func(f *api.NodeFence, r api.AskedBy) string {
		f.Status.NextLook = nil
		return fence.Join(f, r)
	}}},
	"forgets the request that joined before": {usedUp, walk.Gate{Join: func(f *api.NodeFence, r api.AskedBy) string {
		words := fence.Join(f, r)
		f.Status.Decision.AskedBy = f.Status.Decision.AskedBy[len(f.Status.Decision.AskedBy)-1:]
		return words
	}}},
	"says nothing of a request that joined": {toldOnce, walk.Gate{Join: func(f *api.NodeFence, r api.AskedBy) string {
		was := f.Status.History
		words := fence.Join(f, r)
		f.Status.History = was
		return words
	}}},
	"forgets what joined when the next fence opens": {usedUp, walk.Gate{Open: func(f *api.NodeFence, dec api.Decision, now time.Time) api.NodeFenceStatus {
		st := fence.Opening(f, dec, now)
		st.Past[len(st.Past)-1].AskedBy = nil
		return st
	}}},
}

// brokenJoins are Decides that do wrong with a request that has joined.
var brokenJoins = map[string]twin{
	"tells of a request again and again": {toldOnce, after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if len(st.Decision.AskedBy) > 0 {
			st.History = append(slices.Clone(st.History), api.HistoryEntry{At: observed.StampOf(now), Phase: st.Phase, Reason: api.RequestMerged})
		}
	})},
	"never finds a request that joined old": {"S17: a request is carried out within a quarter of an hour or never", Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		f.Status.Decision.AskedBy = askedAt(f, now)
	})},
	"finds a request as old as the fence that it joined": {lostJoin, Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if f.Status.OpenedAt != nil && now.Sub(f.Status.OpenedAt.Time) > 20*time.Second {
			f.Status.Decision.AskedBy = askedAt(f, fencetest.Start.Add(-time.Hour))
		}
	})},
	"says that a request which it carried out has expired": {"S28: of what was carried out nobody says that it was not begun", after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Outcome == api.HealedBeforeFence && st.Decision.Asker() != nil {
			st.Outcome = api.RequestExpired
		}
	})},
	"ends a fence that a request joins": {"S18: a request ends no fence", func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		if f.Status.Decision.Asker() != nil {
			s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "True", Since: fencetest.Start}}
			g.Status.Decision.AskedBy = nil
		}
		return fence.Decide(&g, s, now)
	}},
	"goes on for a request that came after the power was cut": {"S25: a request that comes once power was cut changes nothing of the fence", Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if n := len(f.Status.Decision.AskedBy); n > 0 && f.Status.Decision.AskedBy[n-1].Served && f.Status.Phase == api.Recovering {
			s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
		}
	})},
}

// askedAt are those who asked, as if each had at that time.
func askedAt(f *api.NodeFence, at time.Time) []api.AskedBy {
	all := slices.Clone(f.Status.Decision.AskedBy)
	for i := range all {
		all[i].JoinedAt = observed.StampOf(at)
	}
	return all
}

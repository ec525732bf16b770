package admission_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAStormThatNobodyAsksAbout: it ends by the same count and the same time as one
// that a fence asks about, and never on a picture on which no fence would begin. The
// world is ten nodes, of which three may be unhealthy, with a minute's cool-down.
func TestAStormThatNobodyAsksAbout(t *testing.T) { // S15, S16
	now := fencetest.Start
	at := func(d time.Duration) *api.Time { m := observed.StampOf(now.Add(d)); return &m }
	storm := func(message string, until *api.Time) []api.Storm {
		return []api.Storm{{Policy: "p", Since: observed.StampOf(now.Add(-time.Hour)), Message: message, CoolDownUntil: until}}
	}
	began := storm("many", nil)
	dead := func(c *admission.Picture, from, to int) {
		for i := from; i <= to; i++ {
			c.Nodes[i].Unhealthy = true
		}
	}
	zones := func(ps []api.FencePolicy, c *admission.Picture, l *api.FenceLedger, domain string) {
		ps[0].Spec.Limits.PerDomain = &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Number(3)}
		ps[0].Spec.Limits.MaxUnhealthy, l.Status.Storms[0].TopologyKey, l.Status.Storms[0].Domain = fencetest.Percent("100%"), fencetest.ZoneKey, domain
		for i := range c.Nodes {
			c.Nodes[i].Labels = map[string]string{fencetest.ZoneKey: []string{"a", "b"}[i/5]}
		}
	}
	inZone := func(all []api.Storm, domain string) []api.Storm {
		all[0].TopologyKey, all[0].Domain = fencetest.ZoneKey, domain
		return all
	}
	for name, c := range map[string]struct {
		storms []api.Storm
		change func([]api.FencePolicy, *admission.Picture, *api.FenceLedger)
		want   []api.Storm
	}{
		"all have healed: it cools down": {began, nil, storm("many", at(time.Minute))},
		"as many as are allowed are ill": {began, func(_ []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) { dead(c, 0, 2) }, storm("many", at(time.Minute))},
		"more are: it goes on": {began, func(_ []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) { dead(c, 0, 3) },
			storm("4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", nil)},
		"one has missed a renewal and is one too many": {began, func(_ []api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			dead(c, 0, 2)
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n9"}}
		}, storm("4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", nil)},
		"one is missing and is one too many": {began, func(ps []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			dead(c, 0, 2)
			ps[0].Status.Missing = []api.MissingNode{{NodeName: "gone"}}
		}, storm("4 of 11 nodes are unhealthy, maxUnhealthy is 3 (3)", nil)},
		"it is over, and its cool-down runs":    {storm("many", at(time.Second)), nil, storm("many", at(time.Second))},
		"its cool-down is over":                 {storm("many", at(-time.Second)), nil, nil},
		"it is back within its cool-down":       {storm("many", at(time.Second)), func(_ []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) { dead(c, 0, 3) }, storm("4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", nil)},
		"it is back when its cool-down is over": {storm("many", at(-time.Second)), func(_ []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) { dead(c, 0, 3) }, storm("4 of 10 nodes are unhealthy, maxUnhealthy is 3 (3)", nil)},
		"an open fence has the stricter limits of before: they count no more": {began, func(_ []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			dead(c, 0, 1)
			f := fencetest.Running("n0", "f0", api.Pending)
			f.Status.Decision.Limits = []api.ScopedLimits{{Policy: "p", MaxUnhealthy: *fencetest.Number(1)}}
			c.Fences = []api.NodeFence{f}
		}, storm("many", at(time.Minute))},
		"another zone's nodes are not of it": {inZone(storm("many", nil), "b"), func(ps []api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			zones(ps, c, l, "b")
			dead(c, 0, 4)
		}, inZone(storm("many", at(time.Minute)), "b")},
		"its own zone's are": {inZone(storm("many", nil), "a"), func(ps []api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			zones(ps, c, l, "a")
			dead(c, 0, 4)
		}, inZone(storm("5 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 3 (3)", nil), "a")},
		"its policy is deleted":           {began, func(ps []api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) { ps[0].Name = "q" }, storm("many", at(5*time.Minute))},
		"its policy was deleted long ago": {storm("many", at(-time.Second)), func(ps []api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) { ps[0].Name = "q" }, nil},
		"its policy is deleted, and more are ill under an open fence": {began, func(ps []api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			ps[0].Name = "q"
			dead(c, 0, 1)
			f := fencetest.Running("n0", "f0", api.Pending)
			f.Status.Decision.Limits = []api.ScopedLimits{{Policy: "p", MaxUnhealthy: *fencetest.Number(1)}}
			c.Fences = []api.NodeFence{f}
		}, storm("2 of 10 nodes are unhealthy, maxUnhealthy is 1 (1)", nil)},
		"nobody knows how many are missing": {began, func(ps []api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) { ps[0].Status.Missing = tooMany() }, began},
		"the picture of the Leases is old": {began, func(_ []api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.ObservedAt = at(-time.Minute)
		}, began},
		"most Leases are still: it may be us": {began, func(_ []api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Still, l.Status.Leases.Total = []api.StillLease{{NodeName: "x", Stale: true}, {NodeName: "y", Stale: true}}, 3
		}, began},
		"a person has ended its cool-down, which runs for who does not ask": {storm("many", at(time.Second)), func(_ []api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "anna", Until: *at(time.Second)}
		}, storm("many", at(time.Second))},
		"the API server was restored from a backup": {began, func(_ []api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Restored = fencetest.Restored(0)
		}, began},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl, l := fencetest.World(now)
			cl.Fences, cl.Nodes[0].Unhealthy = nil, false
			ps := []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Limits: api.Limits{MaxUnhealthy: fencetest.Number(3), StormCoolDown: api.DurationOf(time.Minute)}}}}
			l.Status.Storms = append([]api.Storm{}, c.storms...)
			if c.change != nil {
				c.change(ps, &cl, l)
			}
			admission.CalmDown(ps, admission.WithMissing(cl, ps), l, now)
			if d := cmp.Diff(c.want, l.Status.Storms); d != "" {
				t.Error(d)
			}
		})
	}
}

// tooMany are missing: the list is cut off.
func tooMany() (all []api.MissingNode) {
	for range admission.MaxHeld {
		all = append(all, api.MissingNode{NodeName: "gone"})
	}
	return all
}

package ask

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// devices are power levels by these drivers; set:x is a set with a member by x.
func devices(drivers ...string) []api.Binding {
	var all []api.Binding
	for _, d := range drivers {
		b := api.Binding{Driver: d}
		if member, is := strings.CutPrefix(d, "set:"); is {
			b = api.Binding{Driver: "set", Members: []api.SetMember{{Driver: "ipmi"}, {Driver: member}}}
		}
		all = append(all, b)
	}
	return api.Named(all...)
}

// TestDeletesMachine: only a level that was told, and that ends machines by their Machine.
func TestDeletesMachine(t *testing.T) {
	for name, c := range map[string]struct {
		devices []api.Binding
		level   int32
		offs    int32
		want    bool
	}{
		"by its Machine":            {devices("machine"), 0, 1, true},
		"before the first Off":      {devices("machine"), 0, 0, false},
		"by its BMC":                {devices("ipmi"), 0, 1, false},
		"first by its BMC":          {devices("ipmi", "machine"), 0, 1, false},
		"then by its Machine":       {devices("ipmi", "machine"), 1, 2, true},
		"after its Machine by more": {devices("machine", "ipmi"), 1, 2, true},
		"one of a set":              {devices("set:machine"), 0, 1, true},
		"none of a set":             {devices("set:redfish"), 0, 1, false},
		"no device":                 {nil, 0, 1, false},
		"what cuts off a network":   {[]api.Binding{{Role: api.RoleNetwork, Driver: "machine"}}, 0, 1, false},
	} {
		st := &api.NodeFenceStatus{Decision: api.Decision{Devices: c.devices}}
		st.Power.Level, st.Power.OffCalls = c.level, c.offs
		if got := deletesMachine(st); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNodeDeletionExpected: what a request says of it while its fence goes on, one look after the
// other: the letter of PermanentNodeDeletionExpected, or -, and that of Succeeded.
func TestNodeDeletionExpected(t *testing.T) {
	by1 := func(phase api.Phase, change func(*api.NodeFence)) *api.NodeFence {
		return record(phase, by("u"), func(f *api.NodeFence) {
			f.Status.Decision.Devices, f.Status.Power.OffCalls = devices("machine"), 1
			change(f)
		})
	}
	waits := by1(api.Pending, func(f *api.NodeFence) { f.Status.Power.OffCalls = 0 })
	asked := by1(api.Fencing, cut)
	later := func(f *api.NodeFence) {
		past(api.NodeDeleted, 1, "u")(f)
		f.Status.FenceNumber, f.Status.Past[0].FenceNumber = 3, 2
	}
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		looks   []*api.NodeFence
		want    string
	}{
		"by its BMC":                       {asIs, []*api.NodeFence{record(api.Fencing, by("u"), cut), record(api.Fenced, by("u"), released)}, "-U -T"},
		"until it is released":             {asIs, []*api.NodeFence{waits, asked, by1(api.Fenced, released)}, "-U TU TT"},
		"only its end is seen":             {asIs, []*api.NodeFence{by1(api.Fenced, released)}, "TT"},
		"its record is of another fence":   {asIs, []*api.NodeFence{asked, record(api.Pending, by("x"), later)}, "TU TT"},
		"the devices are resolved anew":    {asIs, []*api.NodeFence{asked, record(api.Fencing, by("u"), cut)}, "TU TU"},
		"the node goes before its release": {asIs, []*api.NodeFence{asked, by1(api.Finished, outcome(api.NodeGone, cut))}, "TU FF"},
		"given up":                         {asIs, []*api.NodeFence{asked, by1(api.Failed, cut)}, "TU FF"},
		"given up, and only that is seen":  {asIs, []*api.NodeFence{by1(api.Failed, cut)}, "-F"},
		"not all is released":              {asIs, []*api.NodeFence{asked, by1(api.Fenced, leftOver)}, "TU FF"},
		"NodeHealthCheck gives it up":      {timedOut, []*api.NodeFence{by1(api.Fencing, alsoMarked(cut))}, "-F"},
		"refused":                          {asIs, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(c.request)
			var got []string
			for _, f := range c.looks {
				if st := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now}).Status; st != nil {
					r.Status = *st
				}
				is := "-"
				if c := meta.FindStatusCondition(r.Status.Conditions, "PermanentNodeDeletionExpected"); c != nil {
					is = string(c.Status)[:1]
				}
				got = append(got, is+string(meta.FindStatusCondition(r.Status.Conditions, api.ConditionSucceeded).Status)[:1])
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

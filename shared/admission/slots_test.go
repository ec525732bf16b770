package admission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestSlotsOfNodesThatAreGone: a fence may delete its Node object, and anybody may
// change a label. It counts where it was reserved all the same (S14).
func TestSlotsOfNodesThatAreGone(t *testing.T) {
	gone := func(c *admission.Picture) {
		c.Nodes = slices.DeleteFunc(c.Nodes, func(n admission.Node) bool { return n.Name == "n1" })
	}
	label := func(k, v string) func(*admission.Picture) {
		return func(c *admission.Picture) {
			for i := range c.Nodes {
				if c.Nodes[i].Name == "n1" {
					c.Nodes[i].Labels = map[string]string{fencetest.ZoneKey: "a", "role": "worker"}
					c.Nodes[i].Labels[k] = v
				}
			}
		}
	}
	lost := func(l *api.FenceLedger) { l.Status.Reservations = nil }
	unlimited := func(l *api.FenceLedger) {
		for i := range l.Status.Reservations {
			l.Status.Reservations[i].CountedBy = nil
		}
	}
	for name, c := range map[string]struct {
		zones  bool
		change func(*admission.Picture)
		ledger func(*api.FenceLedger)
		asks   string
		want   bool
	}{
		"it is there":                                 {false, func(*admission.Picture) {}, nil, "n0", true},
		"its Node object is deleted":                  {false, gone, nil, "n0", true},
		"it is relabelled":                            {false, label("role", "none"), nil, "n0", true},
		"deleted, in this zone":                       {true, gone, nil, "n0", true},
		"deleted, in another zone":                    {true, gone, nil, "n9", false},
		"moved out of this zone":                      {true, label(fencetest.ZoneKey, "b"), nil, "n0", true},
		"moved into this zone":                        {true, label(fencetest.ZoneKey, "b"), nil, "n9", true},
		"deleted, and the ledger was lost":            {false, gone, lost, "n0", true},
		"nobody knows any more in which zone":         {true, gone, lost, "n9", true},
		"its slot names no limits, and it is deleted": {false, gone, unlimited, "n0", true},
		"its slot names no limits, in this zone":      {true, func(*admission.Picture) {}, unlimited, "n0", true},
		"its slot names no limits, in another zone":   {true, func(*admission.Picture) {}, unlimited, "n9", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rate := range []bool{false, true} {
				if rate && c.ledger != nil {
					continue // what has begun is known from the ledger alone
				}
				asks := func(node string) (*api.NodeFence, admission.Picture, *api.FenceLedger) {
					f, cl, l := fencetest.World(fencetest.Start)
					f.Name, f.Spec.NodeName, f.UID = node, node, "f-"+f.UID
					fencetest.Limits(f).Selector = &api.LabelSelector{MatchLabels: map[string]string{"role": "worker"}}
					if rate {
						fencetest.Limits(f).MaxConcurrent, fencetest.Limits(f).MaxRate = 9, &api.ResolvedRate{Count: 1, Period: metav1.Duration{Duration: time.Hour}}
					}
					fencetest.Zones(f, &cl)
					if !c.zones {
						fencetest.Limits(f).MaxConcurrent, fencetest.Limits(f).PerDomain = fencetest.Limits(f).PerDomain.MaxConcurrent, nil
					}
					for i := range cl.Nodes {
						cl.Nodes[i].Labels["role"] = "worker"
					}
					return f, cl, l
				}
				first, cl, l := asks("n1")
				first.UID = "f1"
				if v := admission.Admit(first, cl, l, fencetest.Start); v != nil {
					t.Fatal(v)
				}
				first.Status = api.NodeFenceStatus{Decision: first.Status.Decision, Phase: api.Fencing, FenceNumber: first.Status.FenceNumber}
				f, cl, _ := asks(c.asks)
				cl.Fences = []api.NodeFence{*first}
				c.change(&cl)
				if c.ledger != nil {
					c.ledger(l)
				}
				want := api.Reason("")
				if c.want || rate { // which knows no zones
					if want = api.TooManyConcurrent; rate {
						want = api.TooManyInATime
					}
				}
				got := api.Reason("")
				if v := admission.Admit(f, cl, l, fencetest.Start); v != nil {
					got = v.Reason
				}
				if got != want {
					t.Errorf("rate %t: %q, want %q", rate, got, want)
				}
			}
		})
	}
}

// TestTheLedgerOfABigStorm: what the source names of 5,000 Leases and the 2,000 fences of
// a day fit well into what etcd takes, 1.5 MiB.
func TestTheLedgerOfABigStorm(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	name := func(i int) string {
		return fmt.Sprintf("ip-10-20-%03d-%03d.eu-central-1.compute.internal", i/256, i%256)
	}
	for i := range api.MaxStill {
		l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: name(i), Renewed: "2026-01-01T00:00:00.000000Z", Since: observed.StampOf(fencetest.Start), Stale: true})
	}
	l.Status.Leases.StillCount, l.Status.Leases.Total = 5000, 5000
	f.Status.Decision.Limits[0].MaxRate = &api.ResolvedRate{Count: 1000, Period: metav1.Duration{Duration: 24 * time.Hour}}
	for i := range 2000 {
		g := f.DeepCopy()
		g.Status.Decision.Limits[0].Policy = []string{"workers", "databases"}[i%2]
		g.Spec.NodeName, g.UID = name(i), types.UID(fmt.Sprintf("6f1cb2f3-0000-4000-8000-%012d", i))
		admission.Reserve(g, c, l, fencetest.Start)
		l.Status.Reservations, l.Status.UnderWay = nil, nil
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.Status.Admitted); n != 2000 || len(text) > 512<<10 {
		t.Errorf("%d admitted, %d bytes", n, len(text))
	}
}

package admission_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// counted is a snapshot in which nothing is behind: its ledger has the slots of its fences,
// and a census.
func counted(r *rand.Rand) (s snapshot, ok bool) {
	s = sample(r)
	if s.cluster.Etcd == nil || r.IntN(3) == 0 {
		s.cluster.Etcd = nil
		for i := range s.cluster.Nodes {
			s.cluster.Nodes[i].ControlPlane = s.cluster.Nodes[i].ControlPlane && r.IntN(2) == 0
		}
		for i := range s.policies {
			s.policies[i].Spec.ControlPlane.Fence = new(api.Never)
		}
	}
	if r.IntN(3) == 0 {
		st := &s.policies[r.IntN(len(s.policies))].Status
		st.Missing = []api.MissingNode{{NodeName: "gone"}, {NodeName: fmt.Sprint("n", r.IntN(9))}}
		st.FailedMachines = []api.FailedMachine{{MachineRef: api.MachineRef{Namespace: "m", Name: "x", UID: "x"}}, {NodeName: fmt.Sprint("n", r.IntN(9)), MachineRef: api.MachineRef{UID: "y"}}}
		s.policies[0].Spec.Machines = &api.MachinesRule{WithoutNode: new(api.DeleteMachine)}
	}
	for i := range s.cluster.Budgets {
		s.cluster.Budgets[i].Name = fmt.Sprint("b", i)
	}
	resolved, ok := policy.ResolvePolicy(s.policies, "n0", labelsOf(s.cluster, "n0"))
	if !ok {
		return s, false
	}
	s.fence.Status.Decision.ResolvedPolicy = resolved
	var fences []*api.NodeFence
	for i := range s.cluster.Fences {
		f := &s.cluster.Fences[i]
		f.ResourceVersion = fmt.Sprint(100 + i)
		f.Status.Restarts = int32(r.IntN(2))
		if f.Spec.NodeName == "n0" {
			s.fence.ResourceVersion = f.ResourceVersion
			*f = s.fence
		}
		fences = append(fences, f)
	}
	admission.Rebuild(&s.ledger, s.cluster, fencetest.Start)
	for i := range s.ledger.Status.Reservations {
		s.ledger.Status.Reservations[i].CountedBy = []api.CountedBy{{Policy: "p0"}}
	}
	admission.PlaceUnderWay(&s.ledger, s.cluster)
	s.ledger.Status.Census = admission.TakeCensus(admission.Watched{
		Nodes: s.cluster.Nodes, Fences: fences, Policies: s.policies, Budgets: s.cluster.Budgets, Leases: s.ledger.Status.Leases, Admitted: s.ledger.Status.Admitted,
	}, fencetest.Start)
	return s, true
}

func nodeOf(c admission.Picture, name string) (n observed.Node) {
	for _, is := range c.Nodes {
		if is.Name == name {
			n = observed.Node{Exists: true, UID: is.UID, Labels: is.Labels, ControlPlane: is.ControlPlane}
			status := "True"
			if is.Unhealthy {
				status = "Unknown"
			}
			n.Conditions = []observed.Condition{{Type: "Ready", Status: status}}
		}
	}
	return n
}

// anew is what was read for a quorum; nil where none is asked for.
func (s *snapshot) anew() *admission.ReadAnew {
	if s.cluster.Etcd == nil {
		return nil
	}
	read := &admission.ReadAnew{Etcd: admission.EtcdObserved{Members: s.cluster.Etcd}, Nodes: map[string]*admission.Node{}}
	for _, n := range s.cluster.Nodes {
		if n.ControlPlane {
			read.Nodes[n.Name] = &n
		}
	}
	for i := range s.cluster.Fences {
		if f := &s.cluster.Fences[i]; read.Nodes[f.Spec.NodeName] != nil {
			read.Fences = append(read.Fences, f)
		}
	}
	return read
}

// TestACensusDecidesAsAListDoes: verdict, words and ledger are the same by a census that is
// not behind as by lists of everything (S14).
func TestACensusDecidesAsAListDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, yes, no := rand.New(rand.NewPCG(seed, 0)), 0, map[api.Reason]int{}
	for range 6000 {
		s, ok := counted(r)
		if !ok {
			continue
		}
		if lacks := admission.CensusLacks(&s.ledger, fencetest.Start); lacks != "" {
			t.Fatalf("the census lacks something: %s\n%+v", lacks, s.ledger.Status)
		}
		o, lacks := admission.ByCensus(&s.ledger, &s.fence, nodeOf(s.cluster, "n0"), nil, s.anew(), s.policies, s.cluster.Budgets, fencetest.Start)
		if lacks != "" {
			t.Fatalf("the census lacks something: %s\n%+v\n%+v", lacks, s.ledger.Status, s.cluster)
		}
		byList, byCensus := s.ledger.DeepCopy(), s.ledger.DeepCopy()
		lists := admission.NewPicture(admission.Observed{Nodes: s.cluster.Nodes, Fences: s.cluster.Fences, Budgets: s.cluster.Budgets, Policies: s.policies, Etcd: admission.EtcdObserved{Members: s.cluster.Etcd}})
		want := admission.Admit(&s.fence, lists, byList, fencetest.Start)
		got := admission.Admit(&s.fence, admission.NewPicture(o), byCensus, fencetest.Start)
		order := cmpopts.SortSlices(func(a, b api.Reservation) bool { return a.NodeName < b.NodeName })
		under := cmpopts.SortSlices(func(a, b api.UnderWay) bool { return a.NodeName < b.NodeName })
		if d := cmp.Diff(want, got) + cmp.Diff(byList.Status, byCensus.Status, order, under, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("by the census otherwise than by lists: %s\n%+v", d, s.ledger.Status)
		}
		if want == nil {
			yes++
		}
		no[fencetest.ReasonOf(want)]++
	}
	if yes < 100 || no[api.TooManyUnhealthy] < 100 || no[api.TooManyConcurrent] < 50 || no[api.BudgetExhausted] < 50 || no[api.EtcdQuorum] < 20 {
		t.Errorf("begun %d, held %v: nothing was shown", yes, no)
	}
}

// TestWhatACensusLacks has the cluster listed.
func TestWhatACensusLacks(t *testing.T) {
	now := fencetest.Start
	for want, change := range map[string]func(s *snapshot, n *observed.Node){
		"":              func(*snapshot, *observed.Node) {},
		"there is none": func(s *snapshot, _ *observed.Node) { s.ledger.Status.Census = nil },
		"it is older than": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Census.ObservedAt = *ago(now, admission.CensusKept+time.Second)
		},
		"it is older than 15s":               func(s *snapshot, _ *observed.Node) { s.ledger.Status.Census.ObservedAt = *ago(now, -time.Hour) },
		"does not name all":                  func(s *snapshot, _ *observed.Node) { s.ledger.Status.Leases.StillCount = 600 },
		"does not name node n9, whose Lease": func(s *snapshot, _ *observed.Node) { s.ledger.Status.Leases.Still = []api.StillLease{{NodeName: "n9"}} },
		"does not keep label role": func(s *snapshot, _ *observed.Node) {
			s.policies[0].Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"role": "x"}}
		},
		"not seen node n0 as it is": func(_ *snapshot, n *observed.Node) { n.Exists = false },
		"does not say for which record, or by which limits, it was reserved": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Reservations = []api.Reservation{{NodeName: "n1"}}
		},
		"no slot of node n1, which holds one": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Census.Fences = append(s.ledger.Status.Census.Fences, api.CountedFence{NodeName: "n1", FenceUID: "u", FenceNumber: 1, Version: "5", Phase: api.Fencing})
		},
		"what node n1 counts for, whose fence": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Census.Fences = append(s.ledger.Status.Census.Fences, api.CountedFence{NodeName: "n1", FenceUID: "u", FenceNumber: 1, Version: "5", Phase: api.Recovering})
		},
		"what became of the slot of node n1": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "u", FenceNumber: 1, FenceVersion: "5", CountedBy: []api.CountedBy{{}}, At: *ago(now, facts.ReservationKept+time.Second)}}
		},
		"it has node n0 as healthy": func(s *snapshot, _ *observed.Node) {
			for i := range s.ledger.Status.Census.Nodes {
				s.ledger.Status.Census.Nodes[i].Unhealthy = false
			}
		},
		"it does not name node n1, whose fence is open": func(s *snapshot, _ *observed.Node) {
			s.ledger.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "u", FenceNumber: 1, FenceVersion: "5", CountedBy: []api.CountedBy{{}}, At: *ago(now, time.Second)}}
			s.ledger.Status.UnderWay = []api.UnderWay{{NodeName: "n1", FenceUID: "u", FenceNumber: 1}}
		},
		"etcd's members were not read": func(s *snapshot, _ *observed.Node) {
			s.fence.Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum
		},
	} {
		f, c, l := fencetest.World(now)
		f.ResourceVersion = "7"
		s := snapshot{policies: []api.FencePolicy{fencetest.LivePolicy()}, fence: *f, cluster: c, ledger: *l}
		s.ledger.Status.Census = admission.TakeCensus(admission.Watched{Nodes: c.Nodes, Fences: []*api.NodeFence{f}, Policies: s.policies, Leases: l.Status.Leases}, now)
		n := nodeOf(c, "n0")
		change(&s, &n)
		lacks := admission.CensusLacks(&s.ledger, now)
		if lacks == "" {
			_, lacks = admission.ByCensus(&s.ledger, &s.fence, n, nil, nil, s.policies, nil, now)
		}
		if !strings.Contains(lacks, want) || (want == "") != (lacks == "") {
			t.Errorf("%q: %q", want, lacks)
		}
	}
}

// TestAFenceOfANodeThatLives is decided by the census, which has no such node by its name until its
// source has seen the fence.
func TestAFenceOfANodeThatLives(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	l.Status.Census = admission.TakeCensus(admission.Watched{Nodes: c.Nodes, Leases: l.Status.Leases}, fencetest.Start)
	f.Name, f.Spec.NodeName, f.UID = "n5", "n5", "f5"
	if _, lacks := admission.ByCensus(l, f, nodeOf(c, "n5"), nil, nil, nil, nil, fencetest.Start); lacks != "" {
		t.Error(lacks)
	}
}

// TestACensusHoldsNoMoreThanItsSchema: with more of anything there is none.
func TestACensusHoldsNoMoreThanItsSchema(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, unhealthy, zones, policies int
		is                                bool
	}{
		"thousands of nodes":   {5000, 500, 200, 8, true},
		"too many by name":     {5000, api.MaxCensusNodes + 1, 3, 1, false},
		"too many kinds":       {5000, 0, api.MaxCensusAlike + 1, 1, false},
		"too many policies":    {10, 0, 1, api.MaxCensusObjects + 1, false},
		"nothing at all":       {0, 0, 1, 0, true},
		"all of them are dead": {api.MaxCensusNodes, api.MaxCensusNodes, 1, 1, true},
	} {
		w := admission.Watched{}
		for i := range c.nodes {
			w.Nodes = append(w.Nodes, admission.Node{Name: fmt.Sprint("n", i), Unhealthy: i < c.unhealthy, Labels: map[string]string{fencetest.ZoneKey: fmt.Sprint("z", i%c.zones), "other": fmt.Sprint(i)}})
		}
		for i := range c.policies {
			p := fencetest.LivePolicy()
			p.Name, p.Spec.Limits.PerDomain = fmt.Sprint("p", i), &api.DomainLimits{TopologyKey: fencetest.ZoneKey}
			w.Policies = append(w.Policies, p)
		}
		got := admission.TakeCensus(w, fencetest.Start)
		if (got != nil) != c.is {
			t.Errorf("%s: %+v", name, got)
		}
		if got == nil {
			continue
		}
		total := len(got.Nodes)
		for _, a := range got.Alike {
			total += int(a.Count)
		}
		if total != c.nodes || len(got.Nodes) != c.unhealthy || slices.Contains(got.LabelKeys, "other") {
			t.Errorf("%s: %d nodes, %d by name, %v", name, total, len(got.Nodes), got.LabelKeys)
		}
	}
}

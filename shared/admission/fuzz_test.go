package admission_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/policy"
)

// chosen is a source of numbers that a fuzzer chose; past its end it goes on by a fixed sequence.
type chosen struct {
	bytes []byte
	after *rand.PCG
}

func chooseBy(bytes []byte) *rand.Rand { return rand.New(&chosen{bytes, rand.NewPCG(1, 2)}) }

// Uint64 makes each byte decide one draw: a draw of a small range takes the high bits, or the low ones.
func (c *chosen) Uint64() uint64 {
	if len(c.bytes) == 0 {
		return c.after.Uint64()
	}
	b := uint64(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b<<56 | b<<24 | b
}

// addSeeds adds inputs whose clusters differ.
func addSeeds(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var b []byte
		for range 8 {
			b = binary.LittleEndian.AppendUint64(b, r.Uint64())
		}
		f.Add(b)
	}
}

// FuzzAdmit asks whether a fence may begin, in any cluster. A yes reserves one slot, leaves no limit
// exceeded (S14), and cuts no node of the control plane under Never (S13).
func FuzzAdmit(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		r := chooseBy(bytes)
		s := sample(r)
		never := r.IntN(2) == 0
		for i := range s.policies {
			if never {
				s.policies[i].Spec.ControlPlane.Fence = new(api.Never)
			}
		}
		resolved, ok := policy.ResolvePolicy(s.policies, "n0", labelsOf(s.cluster, "n0"))
		if !ok {
			return
		}
		s.fence.Status.Decision.ResolvedPolicy = resolved
		ledger := s.ledger.DeepCopy()
		if v := admission.Admit(&s.fence, s.cluster, ledger, fencetest.Start); v != nil {
			return
		}
		if plane := s.cluster.Nodes[0].ControlPlane; plane && never {
			t.Errorf("a control-plane node was admitted under Never")
		}
		held := map[string]bool{}
		for _, slot := range ledger.Status.Reservations {
			if held[slot.NodeName] {
				t.Errorf("node %s holds two slots", slot.NodeName)
			}
			held[slot.NodeName] = true
		}
		if !held["n0"] {
			t.Error("a yes without a slot")
		}
		for _, l := range resolved.Limits {
			n := int32(0)
			for node := range held {
				if policy.Selects(l.Selector, labelsOf(s.cluster, node)) && selectedBy(s.policies, l.Policy, labelsOf(s.cluster, node)) {
					n++
				}
			}
			if n > l.MaxConcurrent {
				t.Errorf("%d slots under policy %s, which allows %d", n, l.Policy, l.MaxConcurrent)
			}
		}
	})
}

// selectedBy tells whether a policy selects a node.
func selectedBy(policies []api.FencePolicy, name string, labels map[string]string) bool {
	for i := range policies {
		if policies[i].Name == name {
			return policy.Selects(policies[i].Spec.Selector, labels)
		}
	}
	return false
}

// FuzzCensusAgainstLists asks about one cluster by a census and by lists: the verdict, its words and
// the ledger are the same (S14).
func FuzzCensusAgainstLists(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s, ok := counted(chooseBy(bytes))
		if !ok || admission.CensusLacks(&s.ledger, fencetest.Start) != "" {
			return
		}
		o, lacks := admission.ByCensus(&s.ledger, &s.fence, nodeOf(s.cluster, "n0"), nil, s.anew(), s.policies, s.cluster.Budgets, fencetest.Start)
		if lacks != "" {
			return // the cluster is listed then
		}
		byList, byCensus := s.ledger.DeepCopy(), s.ledger.DeepCopy()
		lists := admission.NewPicture(admission.Observed{Nodes: s.cluster.Nodes, Fences: s.cluster.Fences, Budgets: s.cluster.Budgets, Policies: s.policies, Etcd: admission.EtcdObserved{Members: s.cluster.Etcd}})
		want := admission.Admit(&s.fence, lists, byList, fencetest.Start)
		got := admission.Admit(&s.fence, admission.NewPicture(o), byCensus, fencetest.Start)
		order := cmpopts.SortSlices(func(a, b api.Reservation) bool { return a.NodeName < b.NodeName })
		under := cmpopts.SortSlices(func(a, b api.UnderWay) bool { return a.NodeName < b.NodeName })
		if d := cmp.Diff(want, got) + cmp.Diff(byList.Status, byCensus.Status, order, under, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("by the census otherwise than by lists: %s", d)
		}
	})
}

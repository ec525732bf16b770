package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestAStatusIsTheSameOfTheSame: what is said of one and the same cluster does not depend
// on the order in which a map is gone through. Else a status is written again and again.
func TestAStatusIsTheSameOfTheSame(t *testing.T) {
	unreadable := &api.LabelSelector{MatchLabels: map[string]string{}}
	for i := range 8 {
		unreadable.MatchLabels[fmt.Sprintf("key %d", i)] = "v"
	}
	for name, change := range map[string]func(*api.FencePolicy, *api.FenceBudget){
		"selectors that can be read": func(*api.FencePolicy, *api.FenceBudget) {},
		"selectors that can't": func(p *api.FencePolicy, b *api.FenceBudget) {
			p.Spec.Selector, b.Spec.Selector = unreadable, unreadable
		},
		"what is excluded can't": func(p *api.FencePolicy, _ *api.FenceBudget) {
			p.Spec.Exclude = &api.ExcludedNodes{Selector: unreadable}
		},
		"Machines that can't": func(p *api.FencePolicy, _ *api.FenceBudget) { p.Spec.Machines.Selector = unreadable },
	} {
		p, b, c, l := steadyWorld(fencetest.ZonesOf(t, "Europe/Berlin", "Asia/Tokyo"))
		change(p, b)
		others := []api.FencePolicy{*p, *p.DeepCopy(), *p.DeepCopy()}
		others[1].Name, others[1].Spec.Precedence = "other", new(int32(1))
		others[2].Name = "third"
		type said struct {
			Policy api.FencePolicyStatus
			Budget api.FenceBudgetStatus
			Nodes  []admission.Node
		}
		say := func() said {
			with := admission.WithMissing(c, others)
			return said{admission.PolicyStatus(p, others, with, l, fencetest.Start), admission.BudgetStatus(b, with, l, fencetest.Start), with.Nodes}
		}
		first := say()
		for range 50 {
			if d := cmp.Diff(first, say()); d != "" {
				t.Errorf("%s: %s", name, d)
				break
			}
		}
	}
}

// steadyWorld has two of all that a status tells of, and more where that goes by a map.
func steadyWorld(zones policy.Zones) (*api.FencePolicy, *api.FenceBudget, admission.Picture, *api.FenceLedger) {
	_, c, l := fencetest.World(fencetest.Start)
	c.Zones = zones
	c.Fences, c.EtcdSeenBy = nil, map[string]string{}
	for i := range c.Nodes {
		c.Nodes[i].Labels = map[string]string{fencetest.ZoneKey: fmt.Sprint(i % 4), "role": "x"}
		c.EtcdSeenBy[c.Nodes[i].Name] = "its Node"
		c.EtcdSeen = append(c.EtcdSeen, c.Nodes[i].Name)
	}
	for _, node := range []string{"n2", "n3"} {
		f := fencetest.Running(node, "f", api.Pending)
		f.Status.History = []api.HistoryEntry{{At: observed.StampOf(fencetest.Start), Reason: api.Opened}}
		f.Status.Decision.Policy.Name = "p"
		c.Fences = append(c.Fences, f)
	}
	since := observed.StampOf(fencetest.Start.Add(-time.Hour))
	p := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Selector: policy.EveryNode, Action: api.ActionReboot, Mode: api.ModeEnforce, Precedence: new(int32(5)),
		Limits:       inZones(fencetest.Number(3), 2, fencetest.Number(1), 1),
		MissingNodes: &api.MissingNodesRule{}, Machines: &api.MachinesRule{Selector: policy.EveryNode},
		ControlPlane: api.ControlPlane{EtcdNodeNames: []string{"n1", "gone-1", "gone-2"}},
		PauseWindows: []api.PauseWindowRule{fencetest.Window("12:00", time.Hour, "UTC"), fencetest.Window("22:00", time.Hour, "Europe/Berlin"), fencetest.Window("12:00", time.Hour, "Asia/Tokyo")},
	}}
	for i := range 8 {
		node := fmt.Sprintf("missing-%d", i)
		p.Spec.MissingNodes.NodeNames = append(p.Spec.MissingNodes.NodeNames, node)
		p.Status.Missing = append(p.Status.Missing, api.MissingNode{NodeName: node, Since: since})
	}
	return p, &api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: api.FenceBudgetSpec{Selector: policy.EveryNode, MaxUnavailable: fencetest.Percent("40%")}}, c, l
}

package view

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// lost is a cluster whose policy misses a node, one that is left alone, and a Machine without a node. Of
// four more that it names, one has come back, one is named twice, one has an open fence, and one a fence
// that is over.
func lost() Seen {
	s := seen()
	p := &s.Policies[0]
	wait, start := api.Duration("10m"), api.Duration("20m")
	p.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: []string{"m1", "m2", "a1", "gone", "was"}, Duration: &wait}
	p.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}, StartupTimeout: &start}
	of := &api.MachineRef{Name: "m3-machine"}
	for _, m := range []api.MissingNode{
		{NodeName: "m1"}, {NodeName: "m2", Held: "Machine m2 is left alone: it is paused"}, {Machine: of}, {NodeName: "a1"}, {NodeName: "m1"}, {NodeName: "gone"}, {NodeName: "was"},
	} {
		m.Since = *at(-time.Hour)
		p.Status.Missing = append(p.Status.Missing, m)
	}
	s.Fences = append(s.Fences, fenceOf("was", api.Finished, api.NodeGone, "its Node object is gone"))
	s.Fences[len(s.Fences)-1].Status.Outcome = api.NodeGone
	return s
}

// TestMissingNodes have a row each, unless they have come back, or a fence says more.
func TestMissingNodes(t *testing.T) {
	s := lost()
	var got []string
	for _, r := range s.Rows() {
		if r.State == Missing || r.Node == "gone" || r.Node == "a1" {
			got = append(got, strings.Join([]string{r.Node, r.Ready, r.Policy, r.State, string(r.Reason), ago(s.Now, r.Since), r.Message}, " "))
		}
	}
	const expected = "it is expected, and has no Node object"
	want := []string{
		"a1 True workers Watched   ", "gone NoNode workers Releasing WaitingForRelease 60s 1 pod", "m1 NoNode workers Missing NodeMissing 60m " + expected,
		"m2 NoNode workers Missing NodeMissing 60m Machine m2 is left alone: it is paused", "m3-machine NoNode workers Missing NodeMissing 60m " + expected, "was NoNode workers Missing NodeMissing 60m " + expected,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s\nwant\n%s", g, w)
	}
}

// TestWhyANodeIsMissing: which policy expects it, for how long it may be missing, and what to do.
func TestWhyANodeIsMissing(t *testing.T) {
	for name, want := range map[string][]string{
		"m1":         {"Node m1 has been missing for 60m (NodeMissing: it is expected, and has no Node object).\nPolicy workers expects it, and acts once it has been missing for 10m0s.\n", "What you can do: nothing: nodefence goes on by itself."},
		"m2":         {"(NodeMissing: Machine m2 is left alone: it is paused)", "What you can do: take away what the message names, if the node is to be fenced."},
		"m3-machine": {"acts once it has been missing for 20m0s"},
		"was":        {"Node was has been missing for 60m", "its last fence ended: fence 3, NodeGone: its Node object is gone"},
		"gone":       {"Fence 3 of node gone stands in phase Releasing"},
		"a1":         {"Nothing is wrong with node a1"},
	} {
		s := lost()
		a, err := s.Why(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range want {
			if !strings.Contains(a.Words(), words) {
				t.Errorf("%s: without %q: %s", name, words, a.Words())
			}
		}
	}
	s := lost()
	s.Policies[0].Spec.MissingNodes = nil
	if a, err := s.Why("m1"); err != nil || !strings.Contains(a.Rule, "expects it no more") {
		t.Errorf("%v: %s", err, a.Rule)
	}
	s.Nodes = append(s.Nodes, node("m1", corev1.ConditionTrue))
	if _, err := s.Why("m9"); err == nil || !strings.Contains(err.Error(), "m2") {
		t.Errorf("%v", err)
	}
}

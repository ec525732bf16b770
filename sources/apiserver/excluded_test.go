package apiserver

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const theirLabel = "remediation.medik8s.io/exclude-from-remediation"

// TestWhoExcludesANodeIsEnrolledWithIt, whether or not the node is Ready, while the Node
// object exists; the enrolment outlives it.
func TestWhoExcludesANodeIsEnrolledWithIt(t *testing.T) {
	f := newFakeAPI(t)
	const name = "fence-enrolled-a"
	labelled := func(ready string, labels map[string]string) {
		n := nodeIn("a", ready, 0)
		n.Labels = labels
		f.set(nodesURL, n)
	}
	says := func(why, by string) {
		t.Helper()
		eventually(t, func() bool {
			d := f.enrolled(name)
			return d != nil && d[kube.Excluded] == why && d[kube.ExcludedBy] == by
		})
	}
	pets := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "pets"}, Spec: api.FencePolicySpec{
		Exclude: &api.ExcludedNodes{Selector: &api.LabelSelector{MatchLabels: map[string]string{"pet": "yes"}}},
	}}
	named := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "named"}, Spec: api.FencePolicySpec{Exclude: &api.ExcludedNodes{NodeNames: []string{"a"}}}}
	const why = "the node has the label " + theirLabel + "=true"
	f.set(policiesURL, named)
	labelled("True", map[string]string{theirLabel: "true", "pet": "yes"})
	s, _ := start(t, f, time.Hour)
	says(why, "")
	f.set(policiesURL, pets)
	says(why, "pets")
	labelled("False", map[string]string{"pet": "yes"})
	says("", "pets")
	pets.Spec.Exclude.Selector.MatchLabels["pet"] = "no"
	f.set(policiesURL, pets)
	says("", "")
	labelled("False", map[string]string{theirLabel: "true"})
	f.remove(nodesURL, "a")
	says(why, "")
	gone := func() bool { _, here := s.nodes.get("a"); return !here }
	eventually(t, gone)
	f.set(policiesURL, &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "others"}, Spec: api.FencePolicySpec{
		Exclude: &api.ExcludedNodes{Selector: &api.LabelSelector{}},
	}})
	labelledB := nodeIn("b", "True", 0)
	f.set(nodesURL, labelledB) // what comes after it is written
	eventually(t, func() bool { return f.enrolled("fence-enrolled-b")[kube.ExcludedBy] == "others" })
	says(why, "")
	labelled("False", nil) // another Node object of the name
	says("", "others")
}

// TestNobodyIsForgottenBeforeThePoliciesAreKnown: a source that has just started removes
// nothing that an earlier source wrote.
func TestNobodyIsForgottenBeforeThePoliciesAreKnown(t *testing.T) {
	f := newFakeAPI(t)
	f.forbidden = policiesURL
	cm := enrolmentOf("node-a", "machine-a")
	cm.Labels = map[string]string{kube.EnrolledLabel: "true"}
	cm.Data[kube.ExcludedBy] = "pets"
	f.set(mapsURL, cm)
	other := nodeIn("a", "True", 0)
	other.UID = "another"
	f.set(nodesURL, other)
	start(t, f, time.Hour)
	eventually(t, func() bool { return f.enrolled("fence-enrolled-a")["node_uid"] == "another" })
	if by := f.enrolled("fence-enrolled-a")[kube.ExcludedBy]; by != "pets" {
		t.Errorf("excluded by %q", by)
	}
	labelled := nodeIn("a", "False", 0)
	labelled.UID, labelled.Labels = "another", map[string]string{theirLabel: "true"}
	f.set(nodesURL, labelled)
	f.remove(nodesURL, "a") // what it said itself is kept all the same
	eventually(t, func() bool { return f.enrolled("fence-enrolled-a")[kube.Excluded] != "" })
	if by := f.enrolled("fence-enrolled-a")[kube.ExcludedBy]; by != "pets" {
		t.Errorf("excluded by %q, once it had a label", by)
	}
}

// TestASystemUUIDOfTwoNodesIsEnrolled: both enrolments name the other node while the API server
// has two nodes with one system UUID, in whatever spelling, Ready or not, and no longer (S11: the
// device is the node's own). A source that has just started removes nothing.
func TestASystemUUIDOfTwoNodesIsEnrolled(t *testing.T) {
	const uuid, swapped = "00112233-4455-6677-8899-aabbccddeeff", "33221100-5544-7766-8899-aabbccddeeff"
	f := newFakeAPI(t)
	reports := func(name, ready, uuid string) {
		n := nodeIn(name, ready, 0)
		n.Status.NodeInfo.SystemUUID = uuid
		f.set(nodesURL, n)
	}
	also := func(want ...string) {
		t.Helper()
		eventually(t, func() bool {
			for i, node := range []string{"a", "b"}[:len(want)] {
				if d := f.enrolled("fence-enrolled-" + node); d == nil || d[kube.EnrolledAlsoOf] != want[i] {
					return false
				}
			}
			return true
		})
	}
	reports("a", "True", uuid)
	start(t, f, time.Hour)
	also("")
	reports("b", "False", swapped) // not enrolled yet
	also("b")
	reports("b", "True", swapped)
	also("b", "a")
	reports("b", "True", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0")
	also("", "")
	reports("b", "True", uuid)
	also("b", "a")
	f.remove(nodesURL, "b")
	also("")

	known := exclusion{by: "pets", alsoOf: "b"}
	if got := (wish{whyOnly: true}).after(known); got != known {
		t.Errorf("before all nodes are known: %+v", got)
	}
}

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

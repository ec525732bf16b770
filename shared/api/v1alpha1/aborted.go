package v1alpha1

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AbortedAnnotation is on the NodeFence of a node, and holds as JSON what was wrong with the node when
// people aborted earlier fences of it: conditions and Machines by the time since when they were so, and a
// still Lease by the renewTime at which it stood. The gate writes it when it opens a fence. What it names
// opens no fence, and speaks for none that is open: a person has ended that. To write it needs the verb
// decide on nodefences.
const AbortedAnnotation = "nodefence.io/aborted"

// aborted reads AbortedAnnotation. One that can't be read names nothing, and none that is about another
// Node object of the name does.
func (f *NodeFence) aborted(node types.UID) (all []Evidence, lease string) {
	var is struct {
		NodeUID  types.UID
		Evidence []Evidence
		Lease    string
	}
	if json.Unmarshal([]byte(f.Annotations[AbortedAnnotation]), &is) != nil || node == "" || is.NodeUID != node {
		return nil, ""
	}
	return is.Evidence, is.Lease
}

// EndedByAPerson tells whether a person aborted the last fence: the same failure opens no other one.
func (f *NodeFence) EndedByAPerson() bool {
	return f.Status.Outcome == Aborted && !f.EndedByWithdrawal()
}

// AbortedLease is the renewTime at which the Lease of this Node object stood when a person aborted a fence
// that had opened because it stood still: the last fence, or an earlier one. It is empty if nobody has.
func (f *NodeFence) AbortedLease(node types.UID) string {
	st := &f.Status
	if f.EndedByAPerson() && st.Decision.NodeUID == node && st.Decision.Trigger.Suspicion() && st.Lease.Renewed != "" {
		return st.Lease.Renewed
	}
	_, lease := f.aborted(node)
	return lease
}

// AbortedWith tells whether a person aborted the last fence of this Node object, or an earlier one, while
// the same was wrong with the node: the same failure opens no other fence. lease is the renewTime at which
// the node's Lease stands now, as status.lease.renewed has it; empty if it was not looked at. While it stands
// where it stood for an aborted fence, a condition that is Unknown is that failure too.
func (f *NodeFence) AbortedWith(node types.UID, e Evidence, lease string) bool {
	if f.EndedByAPerson() && f.Status.Decision.NodeUID == node && slices.ContainsFunc(f.Status.Evidence, e.Same) {
		return true
	}
	return f.AbortedBefore(node, e, "") || lease != "" && lease == f.AbortedLease(node) && e.silent()
}

// AbortedBefore is AbortedWith for the fences before the one that the status is of.
func (f *NodeFence) AbortedBefore(node types.UID, e Evidence, lease string) bool {
	all, stood := f.aborted(node)
	return slices.ContainsFunc(all, e.Same) || lease != "" && lease == stood && e.silent()
}

// silent tells whether nothing more than silence of the node's kubelet is the evidence: its Lease stands
// still, or Kubernetes says Unknown of a condition because nothing is heard.
func (e Evidence) silent() bool {
	return e.Type == TriggerLeaseStill || e.Type == TriggerNodeCondition && e.Status == string(metav1.ConditionUnknown)
}

// WithAborted is AbortedAnnotation as it should be once another fence has opened: with what was wrong when
// the last one was aborted, if a person did that. Of one condition only the newest occurrence is named, and
// of the Lease only the last renewTime.
func (f *NodeFence) WithAborted() string {
	var all []Evidence
	node := f.Status.Decision.NodeUID
	if f.EndedByAPerson() {
		all = slices.Clone(f.Status.Evidence)
	}
	before, _ := f.aborted(node)
	for _, was := range before {
		if !slices.ContainsFunc(all, func(e Evidence) bool { e.Mark = was.Mark; return e.Same(was) }) {
			all = append(all, was)
		}
	}
	lease := f.AbortedLease(node)
	if len(all) == 0 && lease == "" || node == "" {
		return ""
	}
	is := map[string]any{"nodeUID": node, "evidence": all}
	if lease != "" {
		is["lease"] = lease
	}
	text, err := json.Marshal(is)
	if err != nil {
		return f.Annotations[AbortedAnnotation] // no text of it fails
	}
	return string(text)
}

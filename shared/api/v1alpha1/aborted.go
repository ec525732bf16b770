package v1alpha1

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// AbortedAnnotation is on the NodeFence of a node, and holds as JSON what was wrong with the node when
// people aborted earlier fences of it. The gate writes it when it opens a fence. What it names opens no
// fence, and speaks for none that is open: a person has ended that. To write it needs the verb decide on
// nodefences.
const AbortedAnnotation = "nodefence.io/aborted"

// aborted reads AbortedAnnotation. One that can't be read names nothing, and none that is about another
// Node object of the name does.
func (f *NodeFence) aborted(node types.UID) []Evidence {
	var is struct {
		NodeUID  types.UID
		Evidence []Evidence
	}
	if json.Unmarshal([]byte(f.Annotations[AbortedAnnotation]), &is) != nil || node == "" || is.NodeUID != node {
		return nil
	}
	return is.Evidence
}

// EndedByAPerson tells whether a person aborted the last fence: the same failure opens no other one.
func (f *NodeFence) EndedByAPerson() bool {
	return f.Status.Outcome == Aborted && !f.EndedByWithdrawal()
}

// AbortedBefore tells whether a person aborted an earlier fence of this Node object, before the one that
// the status is of, while the same was wrong with the node.
func (f *NodeFence) AbortedBefore(node types.UID, e Evidence) bool {
	return slices.ContainsFunc(f.aborted(node), e.Same)
}

// WithAborted is AbortedAnnotation as it should be once another fence has opened: with what was wrong when
// the last one was aborted, if a person did that. Of one condition only the newest occurrence is named.
func (f *NodeFence) WithAborted() string {
	var all []Evidence
	node := f.Status.Decision.NodeUID
	if f.EndedByAPerson() {
		all = slices.Clone(f.Status.Evidence)
	}
	for _, was := range f.aborted(node) {
		if !slices.ContainsFunc(all, func(e Evidence) bool { e.Mark = was.Mark; return e.Same(was) }) {
			all = append(all, was)
		}
	}
	if len(all) == 0 || node == "" {
		return ""
	}
	text, err := json.Marshal(map[string]any{"nodeUID": node, "evidence": all})
	if err != nil {
		return f.Annotations[AbortedAnnotation] // no text of it fails
	}
	return string(text)
}

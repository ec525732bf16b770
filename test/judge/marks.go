package judge

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// takenAway is the promise about marks.
const takenAway = "S22: nodefence takes away what it placed"

// judgeMarks: when nodefence has ended a fence, and when the history ends, no mark of nodefence is on the node
// of a fence that is not open.
func (t *timeline) judgeMarks() {
	for node, all := range t.fences {
		if t.declares(OthersWrite, node) {
			continue
		}
		var end *version[api.NodeFence]
		var seen *version[corev1.Node]
		number := int64(0)
		for i := range all {
			if number = max(number, numberOf(all[i].object)); i == 0 || !isOpen(all[i-1].object) || isOpen(all[i].object) {
				continue
			}
			if end = &all[i]; end.ofNodefence() {
				t.countOne("ends of fences")
				seen = t.nodes[node].lastBefore(end.Write)
				t.judgeMarksAt(node, end, seen, number)
			}
		}
		if end == nil || isOpen(all[len(all)-1].object) || len(t.nodes[node]) == 0 {
			continue
		}
		if last := &t.nodes[node][len(t.nodes[node])-1]; last != seen && last.Epoch == all[len(all)-1].Epoch {
			t.judgeMarksAt(node, end, last, number)
		}
	}
}

func numberOf(f *api.NodeFence) int64 {
	if f == nil {
		return 0
	}
	return f.Status.FenceNumber
}

// isOpen reports whether a record has a fence under way.
func isOpen(f *api.NodeFence) bool {
	return f != nil && f.Status.FenceNumber > 0 && f.Status.Phase != api.Finished
}

// judgeMarksAt looks for marks on a version of the Node. A mark of nodefence names its fence.
func (t *timeline) judgeMarksAt(node string, end *version[api.NodeFence], n *version[corev1.Node], fence int64) {
	if n == nil {
		t.leaveOut("the marks of %s at the end of its fence: the history has no version of the Node", node)
		return
	}
	if n.object == nil {
		return // the Node is gone, and its marks with it
	}
	left := func(what string) {
		t.addBreach(takenAway, node, fence, what+" is left after the end of the fence", end.cite("the fence has ended"), n.cite("the Node as it stands"))
	}
	ours := func(value string) bool {
		return slices.ContainsFunc(t.fences[node], func(v version[api.NodeFence]) bool { return v.object != nil && string(v.object.UID) == value })
	}
	if slices.ContainsFunc(n.object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.IsolationTaint && ours(t.Value) }) {
		left("the taint " + api.IsolationTaint)
	}
	if ours(n.object.Annotations[api.OutOfServiceBy]) {
		left("the annotation " + api.OutOfServiceBy)
	}
	if n.object.Spec.Unschedulable && t.cordonIsOurs(node, n) {
		left("the cordon")
	}
}

// cordonIsOurs reports whether nodefence made a node unschedulable, and nobody has asked for that since.
func (t *timeline) cordonIsOurs(node string, until *version[corev1.Node]) bool {
	ours, was := false, false
	for i := range t.nodes[node] {
		v := &t.nodes[node][i]
		if v.object == nil {
			ours, was = false, false
			continue
		}
		is := v.object.Spec.Unschedulable
		switch {
		case is && !was:
			ours = v.ofNodefence() && i > 0
		case is && !v.ofNodefence() && asksForCordon(v.Write), !is:
			ours = false
		}
		was = is
		if v.Write == until.Write {
			return ours
		}
	}
	return ours
}

// asksForCordon reports whether a request says that the node is unschedulable.
func asksForCordon(w *Write) bool {
	var n corev1.Node
	return json.Unmarshal(w.Request, &n) == nil && n.Spec.Unschedulable
}

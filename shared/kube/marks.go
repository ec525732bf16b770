package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// annotate places an annotation, or removes it if its value is empty.
func (m *marks) annotate(key, value string) {
	if m.annotations == nil {
		m.annotations = map[string]string{}
	}
	m.annotations[key] = value
}

// karpenterPool is on the nodes of Karpenter, and of EKS Auto Mode.
const karpenterPool = "karpenter.sh/nodepool"

// scaleDownAnnotations are the annotations by which a node's autoscalers leave it alone.
func scaleDownAnnotations(labels map[string]string) []string {
	if _, karpenters := labels[karpenterPool]; karpenters {
		return []string{api.ScaleDownDisabled, api.DoNotDisrupt}
	}
	return []string{api.ScaleDownDisabled}
}

// rawNode keeps the taints of others as they are, with fields that are not known here (S22).
type rawNode struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Unschedulable bool              `json:"unschedulable,omitempty"`
		Taints        []json.RawMessage `json:"taints,omitempty"`
	} `json:"spec"`
}

// marks is the change of a node's marks: nil leaves the field alone.
type marks struct {
	taints        []json.RawMessage
	changeTaints  bool
	unschedulable *bool
	// annotations are placed, or removed if their value is empty: those that keep autoscalers from
	// deleting this node, the one that says whose the out-of-service taint is, and one that has no
	// meaning.
	annotations map[string]string
}

// Isolate places our taint, the annotations against deletion by autoscalers unless somebody else
// has written them, and the cordon if asked for. It does so in one write, on the node as it was
// looked at.
func (c *Client) Isolate(ctx context.Context, node string, uid types.UID, version string, fence types.UID, cordon bool) error {
	return c.updateMarks(ctx, node, uid, version, func(n *rawNode) (marks, error) {
		var m marks
		rest, found := withoutTaint(n.Spec.Taints, api.IsolationTaint, string(fence))
		if !found {
			t := corev1.Taint{Key: api.IsolationTaint, Value: string(fence), Effect: corev1.TaintEffectNoSchedule}
			raw, err := json.Marshal(t)
			if err != nil {
				return m, fmt.Errorf("encode taint: %w", err)
			}
			// A taint of an earlier fence of this node is ours too, and replaced: a node can have
			// one key and effect only once.
			rest, _ = withoutTaint(rest, api.IsolationTaint, "")
			m.taints, m.changeTaints = append(rest, raw), true
		}
		if cordon && !n.Spec.Unschedulable {
			m.unschedulable = &cordon
		}
		for _, word := range scaleDownAnnotations(n.Labels) {
			if _, theirs := n.Annotations[word]; !theirs {
				m.annotate(word, "true")
			}
		}
		return m, nil
	})
}

// RemoveIsolation removes that fence's taint and, if it is still ours, the cordon. With a version
// it does so on the node as it was looked at, or returns ErrConflict.
func (c *Client) RemoveIsolation(ctx context.Context, node string, uid types.UID, version, fence string, cordon bool) error {
	return c.updateMarks(ctx, node, uid, version, func(n *rawNode) (marks, error) {
		var m marks
		if rest, found := withoutTaint(n.Spec.Taints, api.IsolationTaint, fence); found {
			m.taints, m.changeTaints = rest, true
		}
		if cordon && n.Spec.Unschedulable && CordonIsOurs(n.ManagedFields) {
			off := false
			m.unschedulable = &off
		}
		for _, word := range OurScaleDownAnnotations(n.Annotations, n.ManagedFields) {
			m.annotate(word, "")
		}
		if _, left := n.Annotations[touchedBy]; left { // the process that wrote it died in between
			m.annotate(touchedBy, "")
		}
		return m, nil
	})
}

// Kubernetes' out-of-service taint (KEP-2268) has a value that people set too. So beside a taint of
// nodefence's stands an annotation that names the fence. Both are placed in one write, and removed in
// one write: a process that dies leaves both, or neither (S22).

// PlaceOutOfService places the taint for a fence, on the node as it was looked at: ErrConflict says
// that the node has changed since. If the taint is already there, whatever its value, it has the same
// effect and stays as it is.
func (c *Client) PlaceOutOfService(ctx context.Context, node string, uid types.UID, version string, fence types.UID, as api.OutOfServiceValue) error {
	return c.updateMarks(ctx, node, uid, version, func(n *rawNode) (marks, error) {
		rest, found := withoutTaint(n.Spec.Taints, api.OutOfServiceTaint, "")
		if found {
			return marks{}, nil
		}
		raw, err := json.Marshal(corev1.Taint{Key: api.OutOfServiceTaint, Value: string(as), Effect: corev1.TaintEffectNoExecute})
		if err != nil {
			return marks{}, fmt.Errorf("encode taint: %w", err)
		}
		m := marks{taints: append(rest, raw), changeTaints: true}
		m.annotate(api.OutOfServiceBy, string(fence))
		return m, nil
	})
}

// ClearOutOfService removes that taint. The node is changed even if it does not have the taint,
// so that an invocation that looked before this and is about to place it can no longer do so
// (S23).
func (c *Client) ClearOutOfService(ctx context.Context, node string, uid types.UID, as api.OutOfServiceValue) error {
	touched := false
	err := c.updateMarks(ctx, node, uid, "", func(n *rawNode) (m marks, _ error) {
		m.taints, m.changeTaints = withoutTaint(n.Spec.Taints, api.OutOfServiceTaint, string(as))
		if touched = !m.changeTaints; touched {
			m.annotate(touchedBy, "true")
		}
		if _, left := n.Annotations[api.OutOfServiceBy]; left {
			m.annotate(api.OutOfServiceBy, "")
		}
		return m, nil
	})
	if err != nil || !touched {
		return err
	}
	return c.updateMarks(ctx, node, uid, "", func(*rawNode) (m marks, _ error) {
		m.annotate(touchedBy, "")
		return m, nil
	})
}

// touchedBy is an annotation that is on a node for the moment between two writes.
const touchedBy = "nodefence.io/touched"

// RemoveOutOfService removes the out-of-service taint that was placed for a fence whose record is
// lost, and the annotation that says so, from the node as it was looked at, or returns ErrConflict. A
// taint with a value that nodefence never sets stays.
func (c *Client) RemoveOutOfService(ctx context.Context, node string, uid types.UID, version, fence string) error {
	return c.updateMarks(ctx, node, uid, version, func(n *rawNode) (m marks, _ error) {
		if fence == "" || OutOfServiceBy(n.Annotations, n.ManagedFields) != fence {
			return marks{}, nil
		}
		m.taints = n.Spec.Taints
		for _, as := range []api.OutOfServiceValue{api.NodeShutdown, api.HardwareFailure} {
			rest, found := withoutTaint(m.taints, api.OutOfServiceTaint, string(as))
			m.taints, m.changeTaints = rest, m.changeTaints || found
		}
		m.annotate(api.OutOfServiceBy, "")
		return m, nil
	})
}

// updateMarks applies one change against the node's resourceVersion, and refuses a node that is
// not the one meant (S6). With a version, the node must be as it was then; without one, it is
// tried again when somebody else wrote. The first try uses what this process has seen less than a
// second ago, because a function looks at a node just before it marks it.
func (c *Client) updateMarks(ctx context.Context, node string, uid types.UID, version string, change func(*rawNode) (marks, error)) error {
	var err error
	for range tries {
		var n *rawNode
		n, err = getCached[rawNode](ctx, c.NewReader(0), nodesPath+"/"+node)
		if err != nil {
			return err
		}
		if n == nil || n.UID != uid {
			return nil // the next look sees that the node is gone or another
		}
		if version != "" && n.ResourceVersion != version {
			return fmt.Errorf("mark node %s: it is not as it was looked at: %w", node, ErrConflict)
		}
		m, cerr := change(n)
		if cerr != nil {
			return cerr
		}
		if err = c.writeMarks(ctx, n, m); version != "" || !isConflict(err) {
			return err
		}
	}
	return err
}

func (c *Client) writeMarks(ctx context.Context, n *rawNode, m marks) error {
	spec := map[string]any{}
	if m.changeTaints {
		spec["taints"] = m.taints
		if len(m.taints) == 0 {
			spec["taints"] = nil
		}
	}
	if m.unschedulable != nil {
		spec["unschedulable"] = true
		if !*m.unschedulable {
			spec["unschedulable"] = nil
		}
	}
	annotations := map[string]any{}
	for key, value := range m.annotations {
		annotations[key] = nil
		if value != "" {
			annotations[key] = value
		}
	}
	if len(spec)+len(annotations) == 0 {
		return nil
	}
	meta := map[string]any{"resourceVersion": n.ResourceVersion, "uid": n.UID}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	return c.patchOnly(ctx, mergePatch, nodesPath+"/"+n.Name, map[string]any{"metadata": meta, "spec": spec})
}

// withoutTaint drops the taints of a key, and of a value unless that is empty.
func withoutTaint(taints []json.RawMessage, key, value string) (rest []json.RawMessage, found bool) {
	for _, raw := range taints {
		var t corev1.Taint
		if json.Unmarshal(raw, &t) == nil && t.Key == key && (value == "" || t.Value == value) {
			found = true
			continue
		}
		rest = append(rest, raw)
	}
	return rest, found
}

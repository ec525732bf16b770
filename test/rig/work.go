package rig

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// StatefulSet is a StatefulSet with a volume for each pod, of the lab's storage class.
func StatefulSet(name string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s}
spec:
  serviceName: %[1]s
  replicas: %[2]d
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - {name: db, image: example.invalid/db, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: lab, resources: {requests: {storage: 1Gi}}}
`, name, replicas)
}

// Problems is a NodeProblemPolicy for tests, about every node: a line for each rule.
func Problems(name string, rules ...string) string {
	text := "apiVersion: nodefence.io/v1alpha1\nkind: NodeProblemPolicy\nmetadata: {name: " + name + "}\nspec:\n  selector: {}\n  rules:\n"
	for _, r := range rules {
		text += "    - " + r + "\n"
	}
	return text
}

// Policy is a FencePolicy for tests, of every node and acting, unless the fields that a
// test sets say otherwise.
func Policy(name, spec string) string {
	for _, must := range []string{"mode: Enforce\n", "selector: {}\n"} {
		field, _, _ := strings.Cut(must, ":")
		if !strings.Contains("\n"+spec, "\n"+field+":") {
			spec = must + strings.TrimLeft(spec, "\n")
		}
	}
	return "apiVersion: nodefence.io/v1alpha1\nkind: FencePolicy\nmetadata: {name: " + name + "}\nspec:\n" + indent(spec)
}

func indent(s string) string {
	var b strings.Builder
	for l := range strings.Lines(strings.Trim(s, "\n")) {
		b.WriteString("  " + l)
	}
	return b.String() + "\n"
}

// Pod is a pod of the default namespace; nil if there is none.
func (c *Cluster) Pod(ctx context.Context, name string) *corev1.Pod {
	p, err := c.Kube.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return p
}

// PodRunning waits until a pod runs, on another node than not, and returns its node.
func (c *Cluster) PodRunning(ctx context.Context, name, not string) (node string, err error) {
	err = Until(ctx, "pod "+name+" to run", func() (bool, error) {
		p := c.Pod(ctx, name)
		if p == nil || p.Spec.NodeName == not || !Running(p) {
			return false, nil
		}
		node = p.Spec.NodeName
		return true, nil
	})
	return node, err
}

// Database runs a StatefulSet, and returns the node of its first pod.
func (c *Cluster) Database(ctx context.Context, replicas int) (node string, err error) {
	if err := c.Apply(ctx, StatefulSet("db", replicas)); err != nil {
		return "", err
	}
	for i := range replicas {
		at, err := c.PodRunning(ctx, fmt.Sprintf("db-%d", i), "")
		if err != nil {
			return "", err
		}
		if i == 0 {
			node = at
		}
	}
	return node, nil
}

// Running tells whether a pod runs, is Ready, and is not being deleted.
func Running(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.Status.Phase == corev1.PodRunning
		}
	}
	return false
}

// Ready waits until a node's Ready condition has one of these values.
func (c *Cluster) Ready(ctx context.Context, node string, want ...corev1.ConditionStatus) error {
	return Until(ctx, fmt.Sprintf("node %s to be Ready=%v", node, want), func() (bool, error) {
		n, err := c.Kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		for _, cond := range n.Status.Conditions {
			for _, w := range want {
				if cond.Type == corev1.NodeReady && cond.Status == w {
					return true, nil
				}
			}
		}
		return false, nil
	})
}

// Phase waits until a node's fence is in one of these phases, and returns it.
func (c *Cluster) Phase(ctx context.Context, node string, want ...api.Phase) (*api.NodeFence, error) {
	var f *api.NodeFence
	err := Until(ctx, fmt.Sprintf("the fence of %s to be %v", node, want), func() (bool, error) {
		var err error
		if f, err = c.Fences.Fence(ctx, node); err != nil || f == nil {
			return false, nil
		}
		for _, p := range want {
			if f.Status.Phase == p {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil && f != nil {
		err = fmt.Errorf("%w; it is %s: %s\n%s", err, f.Status.Phase, f.Status.Message, Story(f))
	}
	return f, err
}

// Story is a NodeFence's history as text.
func Story(f *api.NodeFence) string {
	var b strings.Builder
	for _, h := range f.Status.History {
		fmt.Fprintf(&b, "  %s  %-10s %-18s %s\n", h.At.Format("15:04:05.000"), h.Phase, h.Reason, h.Message)
	}
	return b.String()
}

// Marks are what nodefence could have left on a node.
func (c *Cluster) Marks(ctx context.Context, node string) (observed.Node, []string, error) {
	n, err := c.Kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return observed.Node{}, nil, err
	}
	var taints []string
	for _, t := range n.Spec.Taints {
		if t.Key == api.IsolationTaint || t.Key == api.OutOfServiceTaint {
			taints = append(taints, t.Key)
		}
	}
	if n.Annotations[api.OutOfServiceBy] != "" {
		taints = append(taints, api.OutOfServiceBy)
	}
	return observed.Node{Cordoned: n.Spec.Unschedulable}, taints, nil
}

// Unmarked returns an error if nodefence has left something on a node.
func (c *Cluster) Unmarked(ctx context.Context, node string) error {
	n, taints, err := c.Marks(ctx, node)
	if err == nil && (n.Cordoned || len(taints) > 0) {
		err = fmt.Errorf("left on %s: cordoned=%v taints=%v", node, n.Cordoned, taints)
	}
	return err
}

// Timeout bounds a whole story on a busy machine; no test asserts it. The longest takes two minutes
// alone, and twelve when eight labs and compilers share two cores.
const Timeout = 20 * time.Minute

// SetCondition sets a node condition as node-problem-detector does.
func (c *Cluster) SetCondition(ctx context.Context, node, typ, status string) error {
	now := time.Now().UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":%q,"reason":"Test","lastTransitionTime":%q,"lastHeartbeatTime":%[3]q}]}}`, typ, status, now)
	// The kubelet writes the same object meanwhile.
	_, err := c.Kube.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

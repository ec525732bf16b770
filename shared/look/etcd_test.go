package look

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
)

// TestMembersThatAreNotSeen: a member whose pod can't be seen counts as not healthy, and
// must not be left out of the count (S2, S13).
func TestMembersThatAreNotSeen(t *testing.T) {
	pod := func(node string, ready corev1.ConditionStatus, command ...string) corev1.Pod {
		p := corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Command: append([]string{"etcd"}, command...)}}}}
		if ready != "" {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}}
		}
		return p
	}
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	five := "--initial-cluster=cp-5=https://192.0.2.5:2380,cp-1=https://192.0.2.1:2380,cp-2=https://192.0.2.2:2380,cp-3=https://192.0.2.3:2380,cp-4=https://192.0.2.4:2380"
	for name, c := range map[string]struct {
		pods   []corev1.Pod
		planes []string
		want   map[string]bool
	}{
		"no pod is no knowledge":             {nil, []string{"cp-1", "cp-2"}, nil},
		"a pod that no node runs is none":    {[]corev1.Pod{pod("", yes, five)}, nil, nil},
		"each is well if its pod is":         {[]corev1.Pod{pod("cp-1", yes), pod("cp-2", no)}, nil, map[string]bool{"cp-1": true, "cp-2": false}},
		"and its node is":                    {[]corev1.Pod{pod("cp-1", yes), pod("lost", yes)}, nil, map[string]bool{"cp-1": true, "lost": false}},
		"one that says nothing is not well":  {[]corev1.Pod{pod("cp-1", yes), pod("cp-2", "")}, nil, map[string]bool{"cp-1": true, "cp-2": false}},
		"of two on a node both must be well": {[]corev1.Pod{pod("cp-1", no), pod("cp-1", yes)}, nil, map[string]bool{"cp-1": false}},
		"two went with their Node objects": {[]corev1.Pod{pod("cp-1", yes, "--name=cp-1"), pod("cp-2", yes, "--name=cp-2", five), pod("cp-3", yes, "--name=cp-3")}, nil,
			map[string]bool{"cp-1": true, "cp-2": true, "cp-3": true, "cp-4": false, "cp-5": false}},
		"a control-plane node has no pod": {[]corev1.Pod{pod("cp-1", yes), pod("cp-2", yes)}, []string{"cp-1", "cp-2", "cp-3"},
			map[string]bool{"cp-1": true, "cp-2": true, "cp-3": false}},
		"members have names of their own": {[]corev1.Pod{pod("cp-1", yes, "--name", "a", "--initial-cluster", "a=https://192.0.2.1:2380,b=https://192.0.2.2:2380"), pod("cp-2", yes, "--name=b")}, nil,
			map[string]bool{"cp-1": true, "cp-2": true}},
		"a shell starts it": {[]corev1.Pod{pod("cp-1", yes, "sh", "-c", "exec etcd --name=cp-1 --initial-cluster='cp-1=https://192.0.2.1:2380,cp-2=https://192.0.2.2:2380' --data-dir=/x")}, nil,
			map[string]bool{"cp-1": true, "cp-2": false}},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []admission.Node
			for _, n := range c.planes {
				nodes = append(nodes, admission.Node{Name: n, ControlPlane: true})
			}
			ready := map[string]bool{"cp-1": true, "cp-2": true, "cp-3": true}
			got, _ := etcdMembers(c.pods, nodes, ready, ready)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

package look

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// FuzzEtcdMembers builds a cluster of three nodes that run etcd and two workers, of which some are
// lost, and asks whether etcd keeps its quorum without the first. What a worker's kubelet can write, a
// mirror pod on its own node with any labels and arguments, and the labels that admission plugin
// NodeRestriction leaves it, never turns a no into a yes (S13: never etcd's quorum).
func FuzzEtcdMembers(f *testing.F) {
	f.Add(byte(0b011), byte(0b001), "--name=n2", "--initial-cluster=n0=https://192.0.2.1:2380", "node.kubernetes.io/microk8s-controlplane")
	f.Add(byte(0b111), byte(0), "--name=n0 --name=n1", "", "kubernetes.io/hostname")
	f.Add(byte(0b101), byte(0b010), "sh -c 'exec etcd --name n1'", "--initial-cluster n9=https://192.0.2.9:2380", "a")
	f.Fuzz(func(t *testing.T, ready, gone byte, command, args, label string) {
		var nodes []corev1.Node
		var pods []corev1.Pod
		node := func(name string, isReady bool, labels map[string]string) {
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: statusOf(isReady)}}
			nodes = append(nodes, n)
		}
		pod := func(on string, isReady bool, command ...string) {
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + on}, Spec: corev1.PodSpec{NodeName: on, Containers: []corev1.Container{{Command: command}}}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: statusOf(isReady)}}
			pods = append(pods, p)
		}
		for i := range 3 {
			name, there := fmt.Sprintf("n%d", i), gone&(1<<i) == 0
			if there {
				node(name, ready&(1<<i) != 0, map[string]string{api.ControlPlaneLabel: ""})
				pod(name, ready&(1<<i) != 0, "etcd", "--name="+name, "--initial-cluster=n0=https://192.0.2.1:2380,n1=https://192.0.2.2:2380,n2=https://192.0.2.3:2380")
			}
		}
		before := keepsQuorum(pods, nodes, nil)
		if label == api.ControlPlaneLabel || len(label) > 21 && label[:21] == "node-role.kubernetes." {
			label = "refused by NodeRestriction"
		}
		for _, name := range []string{"w", "x"} {
			node(name, true, map[string]string{label: "true"})
			pod(name, true, command, args)
		}
		if !before && keepsQuorum(pods, nodes, nil) {
			t.Errorf("the pods of two workers with %q %q and label %q made the quorum look safe", command, args, label)
		}
	})
}

func statusOf(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// keepsQuorum tells whether more than half of etcd's members are healthy without node n0.
func keepsQuorum(pods []corev1.Pod, nodes []corev1.Node, listed []string) bool {
	members, _ := etcdMembers(pods, ClusterNodes(nodes), readyNodes(nodes), easingNodes(nodes, listed))
	healthy := 0
	for name, is := range members {
		if is && name != "n0" {
			healthy++
		}
	}
	return len(members) > 0 && 2*healthy > len(members)
}

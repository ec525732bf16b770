package look_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAWorkersPodIsNoMemberOfEtcd: a kubelet may create mirror pods on its own node, in any namespace and with
// any label, and write their status (admission plugin NodeRestriction asks only for the mirror annotation and
// spec.nodeName). No such pod makes the quorum look safe (S13: never etcd's quorum).
func TestAWorkersPodIsNoMemberOfEtcd(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	named := "--initial-cluster=a=https://192.0.2.1:2380,b=https://192.0.2.2:2380,c=https://192.0.2.3:2380"
	// Node a has failed, and its fence asks. The Node and the pod of member c are gone: of three members, b
	// alone is healthy.
	lost := func() *planes {
		p := newPlanes()
		delete(p.nodes, "c")
		delete(p.pods, "c")
		for _, n := range []string{"a", "b"} {
			p.pods[n].Spec.Containers[0].Args = []string{named}
		}
		return p
	}
	// Node c is there, and is not Ready.
	down := func() *planes {
		p := newPlanes()
		p.node("c", no)
		p.member("c", no)
		for _, n := range []string{"a", "b", "c"} {
			p.pods[n].Spec.Containers[0].Args = []string{named}
		}
		return p
	}
	for name, c := range map[string]struct {
		of     func() *planes
		change func(*planes)
	}{
		"one member is lost": {lost, func(*planes) {}},
		"one member is down": {down, func(*planes) {}},
		"a kubelet's mirror pod takes the name of the lost member": {lost, func(p *planes) {
			p.member("w", yes)
			p.pods["w"].Spec.Containers[0].Command = []string{"etcd", "--name=c"}
			p.pods["w"].Spec.Containers[0].Args = nil
		}},
		"two workers run pods with the label component=etcd (a backup, another etcd)": {down, func(p *planes) {
			for _, w := range []string{"w", "x"} {
				p.member(w, yes)
				p.pods[w].Spec.Containers[0].Command = []string{"/backup.sh"}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			is := c.of()
			c.change(is)
			is.counted(time.Now())
			got, _, err := is.admitted(t, "a")
			if err != nil || got != api.EtcdQuorum {
				t.Errorf("by census: %q, want %q, %v: the last healthy member but one is cut", got, api.EtcdQuorum, err)
			}
			is.ledger.Status.Census = nil
			if by, _, err := is.admitted(t, "a"); err != nil || by != api.EtcdQuorum {
				t.Errorf("by lists: %q, want %q, %v", by, api.EtcdQuorum, err)
			}
		})
	}
}

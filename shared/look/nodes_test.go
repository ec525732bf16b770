package look_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

func TestNodeFrom(t *testing.T) {
	taint := func(key, value string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Value: value}}}}
	}
	labelled := func(k, v string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{k: v}}}
	}
	annotated := func(k, v string, cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{k: v}}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	const exclude = "remediation.medik8s.io/exclude-from-remediation"
	long := strings.Repeat("b", 1<<20)
	for name, c := range map[string]struct {
		node *corev1.Node
		want observed.Node
	}{
		"UID, boot ID, conditions": {
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.NodeStatus{
				NodeInfo:   corev1.NodeSystemInfo{BootID: "b"},
				Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown", LastTransitionTime: metav1.NewTime(noon), LastHeartbeatTime: metav1.NewTime(noon.Add(time.Minute))}},
			}},
			observed.Node{UID: "u", BootID: "b", Heartbeat: "2026-05-01T12:01:00Z", Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown", Since: noon, Mark: "2026-05-01T12:00:00Z 2026-05-01T12:01:00Z"}}},
		},
		"a boot ID that no record takes": {&corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: long}}}, observed.Node{BootID: kube.BootID(long)}},
		"kured reboots it":               {annotated("weave.works/kured-reboot-in-progress", "2026-05-01T12:00:00Z", true), observed.Node{Cordoned: true, Plans: observed.Plans{Rebooting: "kured reboots this machine (annotation weave.works/kured-reboot-in-progress)"}}},
		"kured intends to reboot it":     {annotated("weave.works/kured-reboot-in-progress", "2026-05-01T12:00:00Z", false), observed.Node{}},
		"OpenShift updates it":           {annotated("machineconfiguration.openshift.io/state", "Working", false), observed.Node{Plans: observed.Plans{Rebooting: "OpenShift's machine-config-daemon updates and reboots this machine (annotation machineconfiguration.openshift.io/state=Working)"}}},
		"OpenShift reboots it":           {annotated("machineconfiguration.openshift.io/state", "Rebooting", true), observed.Node{Cordoned: true, Plans: observed.Plans{Rebooting: "OpenShift's machine-config-daemon updates and reboots this machine (annotation machineconfiguration.openshift.io/state=Rebooting)"}}},
		"OpenShift has updated it":       {annotated("machineconfiguration.openshift.io/state", "Done", false), observed.Node{}},
		"OpenShift can't update it":      {annotated("machineconfiguration.openshift.io/state", "Degraded", false), observed.Node{}},
		"our taint of this fence":        {taint(api.IsolationTaint, "f1"), observed.Node{Taint: true}},
		"our taint of another fence":     {taint(api.IsolationTaint, "f0"), observed.Node{}},
		"a control-plane node":           {labelled(api.ControlPlaneLabel, ""), ofControlPlane("label node-role.kubernetes.io/control-plane")},
		"a control-plane node of old":    {labelled("node-role.kubernetes.io/master", ""), ofControlPlane("label node-role.kubernetes.io/master")},
		"a node of etcd alone":           {labelled("node-role.kubernetes.io/etcd", "true"), ofControlPlane("label node-role.kubernetes.io/etcd")},
		"a control-plane node of RKE1":   {labelled("node-role.kubernetes.io/controlplane", "true"), ofControlPlane("label node-role.kubernetes.io/controlplane")},
		"a node of MicroK8s": {labelled("node.kubernetes.io/microk8s-controlplane", "microk8s-controlplane"),
			ofControlPlane("label node.kubernetes.io/microk8s-controlplane")},
		"a control-plane node without its label": {taint(api.ControlPlaneLabel, ""), ofControlPlane("taint node-role.kubernetes.io/control-plane")},
		"a worker by its role":                   {labelled("node-role.kubernetes.io/worker", ""), observed.Node{}},
		"a node that nothing may touch":          {labelled(exclude, "true"), observed.Node{Plans: observed.Plans{Excluded: "the node has the label " + exclude + "=true"}}},
		"one that was meant to be so once":       {labelled(exclude, "false"), observed.Node{}},
		"a node that an autoscaler deletes": {taint("karpenter.sh/disrupted", ""),
			observed.Node{Plans: observed.Plans{Deleting: "Karpenter is about to delete this node (taint karpenter.sh/disrupted)"}}},
		"a node that is being deleted": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: noon}}},
			observed.Node{Plans: observed.Plans{Deleting: "the Node object is being deleted"}, Terminating: true}},
		"a cordon": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, observed.Node{Cordoned: true}},
		"our cordon": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "nodefence"}, {Manager: "nodefence", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
		}}}, observed.Node{Cordoned: true, CordonOurs: true}},
		"a cordon that we do not manage": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "nodefence", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)},
			{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
		}}}, observed.Node{Cordoned: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Exists, c.want.Labels = true, c.node.Labels
			if d := cmp.Diff(c.want, look.NodeFrom(c.node, "f1")); d != "" {
				t.Error(d)
			}
		})
	}
}

// ofControlPlane is a node that counts as one of the control plane by this mark.
func ofControlPlane(mark string) observed.Node {
	return observed.Node{ControlPlane: true, ControlPlaneMark: mark}
}

// TestAStaticPodMarksItsNode: the mirror of a static pod of an API server or of etcd marks the node that
// it is bound to, unless a label does. It decides only under a policy that spares control-plane nodes (S13).
func TestAStaticPodMarksItsNode(t *testing.T) {
	pod := func(node string, labels map[string]string, annotations ...string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "p", Labels: labels, Annotations: map[string]string{}}, Spec: corev1.PodSpec{NodeName: node}}
		for _, a := range annotations {
			p.Annotations[a] = ""
		}
		return p
	}
	const mirror = corev1.MirrorPodAnnotationKey
	for name, c := range map[string]struct {
		node observed.Node
		pod  corev1.Pod
		want string
	}{
		"etcd of kubeadm and RKE2":      {observed.Node{}, pod("a", map[string]string{"component": "etcd"}, mirror), "static pod kube-system/p"},
		"an API server":                 {observed.Node{}, pod("a", map[string]string{"component": "kube-apiserver"}, mirror), "static pod kube-system/p"},
		"an API server of Talos":        {observed.Node{}, pod("a", map[string]string{"k8s-app": "kube-apiserver"}, mirror), "static pod kube-system/p"},
		"a scheduler":                   {observed.Node{}, pod("a", map[string]string{"component": "kube-scheduler"}, mirror), ""},
		"a pod of a DaemonSet":          {observed.Node{}, pod("a", map[string]string{"component": "etcd"}), ""},
		"a pod of another node":         {observed.Node{}, pod("b", map[string]string{"component": "etcd"}, mirror), ""},
		"a node that a label has named": {ofControlPlane("label x"), pod("a", map[string]string{"component": "etcd"}, mirror), "label x"},
	} {
		got := look.WithStaticPods(c.node, "a", []corev1.Pod{pod("a", nil), c.pod})
		if d := cmp.Diff(observed.Node{ControlPlane: c.want != "", ControlPlaneMark: c.want}, got); d != "" {
			t.Error(name, d)
		}
	}
	for rule, want := range map[api.ControlPlaneRule]bool{api.Never: true, api.WithQuorum: false} {
		p := api.ResolvedPolicy{Settings: api.Settings{ControlPlane: api.ControlPlaneSetting{Fence: rule}}}
		if got := look.StaticPodsDecide(p, observed.Node{}); got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
		if look.StaticPodsDecide(p, ofControlPlane("label x")) {
			t.Errorf("%s: a label decides already", rule)
		}
		p.Settings.ControlPlane.SelectedBy = "q"
		if look.StaticPodsDecide(p, observed.Node{}) {
			t.Errorf("%s: a policy's nodeSelector decides already", rule)
		}
	}
}

// TestOutOfServiceSeen: the taint of this fence's own value is told from any other (S22).
func TestOutOfServiceSeen(t *testing.T) {
	tainted := func(value string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.OutOfServiceTaint, Value: value}}}}
	}
	for name, c := range map[string]struct {
		node *corev1.Node
		as   api.OutOfServiceValue
		want [2]bool // ours, foreign
	}{
		"off":                      {tainted("nodeshutdown"), api.NodeShutdown, [2]bool{true}},
		"beyond repair":            {tainted("hardwarefailure"), api.HardwareFailure, [2]bool{true}},
		"another word":             {tainted("nodeshutdown"), api.HardwareFailure, [2]bool{false, true}},
		"by another hand":          {tainted("x"), api.NodeShutdown, [2]bool{false, true}},
		"another taint altogether": {&corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "x", Value: "nodeshutdown"}}}}, api.NodeShutdown, [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.node)
			if err != nil {
				t.Fatal(err)
			}
			s := &served{objects: map[string]string{nodePath: string(text)}}
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
			f.Status.Placed.OutOfServiceAs = c.as
			var seen observed.Look
			if err := look.Node(t.Context(), s.client(t).NewReader(0), f, &seen); err != nil {
				t.Fatal(err)
			}
			if got := [2]bool{seen.Node.OutOfService, seen.Node.OutOfServiceForeign}; got != c.want {
				t.Errorf("ours, foreign: %v, want %v", got, c.want)
			}
		})
	}
}

// TestWhatWasSaidOfTheBootBeforeIsNotSeen: a condition that stands as it stood while the machine was off speaks of the
// boot before, until its monitor writes it anew, with whatever times (S3, S26, S30).
func TestWhatWasSaidOfTheBootBeforeIsNotSeen(t *testing.T) {
	deadlock := func(status string, changed, heard time.Time) corev1.NodeCondition {
		return corev1.NodeCondition{Type: "KernelDeadlock", Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(changed), LastHeartbeatTime: metav1.NewTime(heard)}
	}
	before := deadlock("True", noon, noon.Add(time.Minute))
	of := func(c corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{c, {Type: "Ready", Status: "True"}}}}
	}
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
	f.Status.Decision.NodeUID = "u"
	f.Status.KeepSaid([]api.SaidCondition{look.NodeFrom(of(before), "").Conditions[0].Said()})
	for name, c := range map[string]struct {
		is   corev1.NodeCondition
		uid  string
		want int
	}{
		"as it stood":                         {before, "u", 1},
		"as it stood, of another Node":        {before, "v", 2},
		"said again":                          {deadlock("True", noon, noon.Add(2*time.Minute)), "u", 2},
		"said again, by a clock that is back": {deadlock("True", noon.Add(-time.Hour), noon.Add(-time.Hour)), "u", 2},
		"cleared":                             {deadlock("False", noon.Add(2*time.Minute), noon.Add(2*time.Minute)), "u", 2},
	} {
		n := of(c.is)
		n.UID = types.UID(c.uid)
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		s := &served{objects: map[string]string{nodePath: string(text)}}
		var seen observed.Look
		if err := look.Node(t.Context(), s.client(t).NewReader(0), f, &seen); err != nil {
			t.Fatal(err)
		}
		if len(seen.Node.Conditions) != c.want {
			t.Errorf("%s: %+v", name, seen.Node.Conditions)
		}
	}
}

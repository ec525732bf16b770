package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	kubeletVersion = "v1.36.3"

	labelZone         = "topology.kubernetes.io/zone"
	annotationAttach  = "volumes.kubernetes.io/controller-managed-attach-detach"
	annotationDrivers = "csi.volume.kubernetes.io/nodeid"
)

// address gives each node an address of its own. It is not a loopback address, which Endpoints
// may not contain.
func address(network string, index int) string {
	return fmt.Sprintf("%s.%d.%d", network, index/250, index%250+1)
}

func (k *kubelet) nodeAddress() string { return address("172.30", k.index) }

// kubeletAddress is where its port is: on loopback, all of which is this machine's.
func kubeletAddress(index int) string { return address("127.30", index) }

// newNode is what a kubelet registers. The API server adds the not-ready taint.
func (k *kubelet) newNode() *corev1.Node {
	name := k.machine.name
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
				labelZone:              k.zone,
			},
			Annotations: map[string]string{
				annotationAttach:  "true",
				annotationDrivers: fmt.Sprintf("{%q:%q}", driver, name),
			},
		},
		Status: k.nodeStatus(false, nil),
	}
}

// machineID is the machine-id of the operating system, which is not the UUID of the firmware.
func machineID(machine string) string {
	sum := sha256.Sum256([]byte("machine-id of " + machine))
	return hex.EncodeToString(sum[:16])
}

// reportedUUID is the system UUID of the Node.
func (h *hardware) reportedUUID() string {
	switch h.systemUUID {
	case "":
		return h.uuid.String()
	case "machine-id":
		return machineID(h.name)
	}
	return h.systemUUID
}

// nodeStatus is the kubelet's part of it. Conditions merge by their type, so
// that those of others stay.
func (k *kubelet) nodeStatus(ready bool, inUse []corev1.UniqueVolumeName) corev1.NodeStatus {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	return corev1.NodeStatus{
		Capacity:    resources,
		Allocatable: resources,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: kubeletAddress(k.index)},
			{Type: corev1.NodeHostName, Address: k.machine.name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: k.port.number}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               machineID(k.machine.name),
			SystemUUID:              k.machine.reportedUUID(),
			BootID:                  k.kernel.bootID,
			KubeletVersion:          kubeletVersion,
			KernelVersion:           "6.1.0-lab",
			OSImage:                 "nodefence lab",
			ContainerRuntimeVersion: "lab://1",
			OperatingSystem:         "linux",
			Architecture:            "amd64",
		},
		Conditions:   k.conditions(ready),
		VolumesInUse: inUse,
	}
}

func (k *kubelet) conditions(ready bool) []corev1.NodeCondition {
	now := metav1.NewTime(time.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: now, LastTransitionTime: k.since(kind, status, now),
		}
	}
	readiness := condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	if !ready {
		readiness = condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", "container runtime is not up yet")
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		readiness,
	}
}

// since keeps the time of a transition that the cluster already knows.
func (k *kubelet) since(kind corev1.NodeConditionType, status corev1.ConditionStatus, now metav1.Time) metav1.Time {
	if node, err := k.cluster.see().nodes.Get(k.machine.name); err == nil {
		if c := nodeCondition(node, kind); c != nil && c.Status == status {
			return c.LastTransitionTime
		}
	}
	return now
}

func nodeCondition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	c := nodeCondition(node, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

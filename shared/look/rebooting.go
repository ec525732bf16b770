package look

import (
	corev1 "k8s.io/api/core/v1"
)

// The annotations by which programs say on a Node that they reboot its machine. Sources: kured's flag
// --annotate-nodes, and the states of OpenShift's machine-config-daemon.
const (
	kuredReboots       = "weave.works/kured-reboot-in-progress"
	machineConfigState = "machineconfiguration.openshift.io/state"
)

// tellReboot says which program reboots the node's machine on purpose, and by which mark; empty if no mark says so. kured
// annotates a node as soon as it intends a reboot, which may wait for days, and cordons the node right
// before. The machine-config-daemon says Working while it applies an update, which ends in a reboot.
func tellReboot(n *corev1.Node) string {
	if n.Annotations[kuredReboots] != "" && n.Spec.Unschedulable {
		return "kured reboots this machine (annotation " + kuredReboots + ")"
	}
	switch state := n.Annotations[machineConfigState]; state {
	case "Working", "Rebooting":
		return "OpenShift's machine-config-daemon updates and reboots this machine (annotation " + machineConfigState + "=" + state + ")"
	}
	return ""
}

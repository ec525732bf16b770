// Package real runs the machines of a lab as real Kubernetes nodes: each has namespaces and cgroups of its
// own, in which containerd, a kubelet and kube-proxy run, and OpenIPMI's ipmi_sim as its BMC.
//
// The freezer of cgroup v1 is the power. A machine that hangs is frozen. A machine that loses its power is
// frozen, and each of its processes is killed before the freezer thaws: none of them executes one more
// instruction.
//
// Each namespace, cgroup and interface of a lab has a name that follows from the lab's folder (Layout). By these names
// Clean finds the remains of a killed lab.
package real

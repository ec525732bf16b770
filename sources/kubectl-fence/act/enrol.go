package act

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
)

// Machine is what an enrolment by a person is judged by.
type Machine struct {
	Node *corev1.Node
	// Lease is the node's; nil if it has none.
	Lease *coordinationv1.Lease
	// Fence is the node's record; nil if it has none.
	Fence *api.NodeFence
	// Target says what the node's devices told, which were asked for this; nil if there is none.
	Target *api.FenceTarget
	// Enrolments are those of all nodes, and Nodes are all nodes.
	Enrolments []corev1.ConfigMap
	Nodes      []corev1.Node
	Now        time.Time
}

// Enrol makes what a node's devices say its machine is the node's identity, in the place of its
// system UUID (S11: the device is the node's own). The node must be healthy and its devices read
// on, so that a person can compare the two, and no other node may have that identity.
func Enrol(m Machine, who Person) (Change, error) {
	node := m.Node.Name
	if words := m.unhealthy(); words != "" {
		return Change{}, fmt.Errorf("node %s is not enrolled: %s; a machine is enrolled while its node is healthy", node, words)
	}
	cm := m.enrolment(node)
	if cm == nil || cm.Data["node_uid"] != string(m.Node.UID) {
		return Change{}, fmt.Errorf("node %s is not enrolled: ConfigMap %s of this Node does not exist; nodefence's source writes it once it has seen the node Ready", node, kube.EnrolledName(node))
	}
	was := enrolledAs(cm)
	said, from, err := m.said(was)
	if err != nil {
		return Change{}, fmt.Errorf("node %s is not enrolled: %w", node, err)
	}
	if words := m.takenBy(said); words != "" {
		return Change{}, fmt.Errorf("node %s is not enrolled: %s", node, words)
	}
	if cm.Data[kube.EnrolledIdentity] != "" && device.SameIdentity(was, said) {
		return Change{}, nothingToDo(node, "it is enrolled as machine "+said+" already")
	}
	return Change{
		Resource: "configmaps", Namespace: cm.Namespace, Name: cm.Name,
		Says: []string{
			fmt.Sprintf("enrol node %s as machine %s, which %s says", node, said, from),
			"so far it is enrolled as machine " + cmp.Or(was, "none") + ", and reports system UUID " + cmp.Or(m.Node.Status.NodeInfo.SystemUUID, "none"),
			"nodefence can't check that this device is the node's: look at the device's own page or label, or at the machine",
			"if it is another machine's device, the next fence of the node cuts that machine",
		},
		Done:  fmt.Sprintf("node %s enrolled as machine %s; kubectl fence plan --read %s checks its devices", node, said, node),
		Patch: map[string]any{"metadata": guard(&cm.ObjectMeta), "data": map[string]any{kube.EnrolledIdentity: said, kube.EnrolledBy: who.Name, kube.EnrolledAt: who.At.UTC().Format(time.RFC3339)}},
		rests: said,
	}, nil
}

// unhealthy says why the node is not healthy; empty if it is.
func (m Machine) unhealthy() string {
	ready := false
	for _, c := range m.Node.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	lasts := func(s *coordinationv1.LeaseSpec) bool {
		return s.RenewTime != nil && s.LeaseDurationSeconds != nil && m.Now.Before(s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second))
	}
	switch {
	case m.Node.DeletionTimestamp != nil:
		return "it is being deleted"
	case !ready:
		return "it is not Ready"
	case m.Lease == nil || !lasts(&m.Lease.Spec):
		return "its Lease is not renewed"
	case m.Fence != nil && m.Fence.Open():
		return "a fence of it is open"
	}
	return ""
}

func (m Machine) enrolment(node string) *corev1.ConfigMap {
	for i := range m.Enrolments {
		if cm := &m.Enrolments[i]; cm.Name == kube.EnrolledName(node) && cm.Labels[kube.EnrolledLabel] != "" {
			return cm
		}
	}
	return nil
}

// enrolledAs is the identity that counts of an enrolment.
func enrolledAs(cm *corev1.ConfigMap) string {
	return cmp.Or(cm.Data[kube.EnrolledIdentity], cm.Data["system_uuid"])
}

// said is the one machine that the node's devices for power have just named, and the device that
// named it first.
func (m Machine) said(enrolled string) (machine, from string, err error) {
	if m.Target == nil || m.Target.Status.NodeUID != m.Node.UID || m.Target.Status.CheckNow == nil {
		return "", "", errors.New("it has no FenceTarget: nodefence's source does not run, or reads no devices (NODEFENCE_CHECK_INTERVAL=0)")
	}
	for _, d := range m.Target.Status.Devices {
		words := d.Driver + " " + d.Address
		switch {
		case d.Role.Cuts() || d.Identity == "":
			continue
		case d.LastChecked == nil || d.LastChecked.Before(&m.Target.Status.CheckNow.At):
			return "", "", fmt.Errorf("%s was not read now: %s", words, cmp.Or(d.Message, string(d.Reason)))
		case d.Enrolled != enrolled:
			return "", "", fmt.Errorf("%s must answer for machine %q, which its method names and which wins over an enrolment: correct identity= there, or the parameter that chooses the machine", words, d.Enrolled)
		case d.State != api.PoweredOn:
			return "", "", fmt.Errorf("%s does not read on, and the node runs: it is another machine's, or not to be believed", words)
		case machine != "" && !device.SameIdentity(machine, d.Identity):
			return "", "", fmt.Errorf("its devices name two machines: %s says %s, %s says %s", from, machine, words, d.Identity)
		case device.IdentityFault(d.Identity) != "":
			return "", "", fmt.Errorf("%s says machine %s, which %s; give the board a UUID of its own with its vendor's tool", words, d.Identity, device.IdentityFault(d.Identity))
		case machine == "":
			machine, from = d.Identity, words
		}
	}
	if machine == "" {
		return "", "", errors.New("none of its devices says which machine it switches (kubectl fence devices -o wide)")
	}
	return machine, from, nil
}

// takenBy says which other node has the identity; empty if none has.
func (m Machine) takenBy(identity string) string {
	for i := range m.Nodes {
		n := &m.Nodes[i]
		if n.Name == m.Node.Name {
			continue
		}
		if device.SameIdentity(n.Status.NodeInfo.SystemUUID, identity) {
			return "node " + n.Name + " reports that it is machine " + identity + ": correct the cable or the address"
		}
		cm := m.enrolment(n.Name)
		if cm == nil || cm.Data["node_uid"] != string(n.UID) {
			continue
		}
		for _, id := range []string{enrolledAs(cm), cm.Data["system_uuid"]} {
			if device.SameIdentity(id, identity) {
				return "node " + n.Name + " was enrolled as machine " + identity + " (ConfigMap " + cm.Name + "): correct the cable or the address"
			}
		}
	}
	return ""
}

package policy

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// Machine is the part of a Machine object that is used, of any kind.
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ProviderID string `json:"providerID,omitempty"`
		// ClusterName is Cluster API's.
		ClusterName string `json:"clusterName,omitempty"`
	} `json:"spec"`
	Status struct {
		NodeRef   *NodeRef             `json:"nodeRef,omitempty"`
		Addresses []corev1.NodeAddress `json:"addresses,omitempty"`
		// Conditions are in the form of the version in which it was read.
		Conditions []any  `json:"conditions,omitempty"`
		Phase      string `json:"phase,omitempty"`
		// OpenShift's fields for errors, and Cluster API's.
		ErrorReason    string `json:"errorReason,omitempty"`
		ErrorMessage   string `json:"errorMessage,omitempty"`
		FailureReason  string `json:"failureReason,omitempty"`
		FailureMessage string `json:"failureMessage,omitempty"`
	} `json:"status"`
	// HeldByCluster says why its Cluster, of Cluster API, has it left alone; empty if it has not.
	HeldByCluster string `json:"-"`
}

// NodeRef names the Node of a Machine. Not every API has the UID.
type NodeRef struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
}

// Has tells whether a Node is that of the Machine. Cluster API's Machines may have their nodes in
// another cluster, and a node of this one may have the name of such a node. So there the provider's
// identity agrees, or the Node names the Machine, and a name alone is not believed.
func (m *Machine) Has(n *corev1.Node) bool {
	ref := m.Status.NodeRef
	if ref == nil || n == nil || n.Name != ref.Name || ref.UID != "" && ref.UID != n.UID {
		return false
	}
	if m.Spec.ProviderID != "" && n.Spec.ProviderID != "" {
		return m.Spec.ProviderID == n.Spec.ProviderID
	}
	named := n.Annotations["cluster.x-k8s.io/cluster-namespace"] == m.Namespace && n.Annotations["cluster.x-k8s.io/machine"] == m.Name
	return named || !strings.HasPrefix(m.APIVersion, "cluster.x-k8s.io/")
}

// failedPhase is the phase of a Machine that has failed.
const failedPhase = "Failed"

// The annotations by which people and controllers control a Machine. The first two count
// with any value.
const (
	SkipRemediation = "cluster.x-k8s.io/skip-remediation"
	Paused          = "cluster.x-k8s.io/paused"
	AskRemediation  = "cluster.x-k8s.io/remediate-machine"
)

// Trouble says why a Machine's node is to be fenced; empty if it is not.
func (m *Machine) Trouble() (state api.MachineState, message string) {
	s := m.Status
	if _, asked := m.Annotations[AskRemediation]; s.Phase != failedPhase && asked {
		return api.MachineStateRemediate, "annotation " + AskRemediation
	}
	if s.Phase != failedPhase {
		return "", ""
	}
	words := []string{"phase Failed"}
	for _, w := range []string{s.ErrorReason, s.ErrorMessage, s.FailureReason, s.FailureMessage} {
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	text := strings.Join(strings.Fields(strings.Join(words, ", ")), " ")
	return api.MachineStateFailed, clip.To(256, text)
}

// LeftAlone says by which annotation, or by what of its Cluster, the Machine is left alone; empty if it is
// not.
func (m *Machine) LeftAlone() string {
	for _, a := range []string{SkipRemediation, Paused} {
		if _, is := m.Annotations[a]; is {
			return "it has the annotation " + a
		}
	}
	return m.HeldByCluster
}

// Ref is what a record keeps of a Machine: its identity, and its owner.
func (m *Machine) Ref() api.MachineRef {
	r := api.MachineRef{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID}
	if o := metav1.GetControllerOf(m); o != nil {
		r.Owner = types.UID(clip.To(clip.UIDBytes, string(o.UID))) // the creator of a Machine may write any UID
	}
	return r
}

// MachineDue returns the Machine because of which a policy fences this Node object now; nil
// if there is none.
func MachineDue(p *api.FencePolicy, node string, uid types.UID, now time.Time) *api.FailedMachine {
	for i := range p.Status.FailedMachines {
		m := &p.Status.FailedMachines[i]
		if due := m.NotBefore == nil || !now.Before(m.NotBefore.Time); due && m.Held == "" && uid != "" && m.NodeName == node && m.NodeUID == uid {
			return m
		}
	}
	return nil
}

// MachineTrigger returns the trigger of a fence because of the node's Machine, if the
// policy that decides for the node fences it now.
func MachineTrigger(policies []api.FencePolicy, decides, node string, uid types.UID, now time.Time) *api.Trigger {
	for i := range policies {
		m := MachineDue(&policies[i], node, uid, now)
		if policies[i].Name != decides || m == nil {
			continue
		}
		return &api.Trigger{
			Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: m.MachineRef, State: m.State}, Since: m.Since,
			Reason: string(api.MachineFailed) + ": Machine " + m.MachineRef.String() + ": " + m.Message,
		}
	}
	return nil
}

// MachineFor returns the Machine because of which this fence continues, according to its
// present policy.
func MachineFor(p *api.FencePolicy, f *api.NodeFence, now time.Time) *api.FailedMachine {
	if t := f.Status.Decision.Trigger; t.OnlyMachine() {
		return AloneDue(p, t.Machine.UID, now)
	}
	return MachineDue(p, f.Spec.NodeName, f.Status.Decision.NodeUID, now)
}

// AloneDue returns the Machine with this UID, if a policy deletes it now.
func AloneDue(p *api.FencePolicy, uid types.UID, now time.Time) *api.FailedMachine {
	for i := range p.Status.FailedMachines {
		m := &p.Status.FailedMachines[i]
		if due := m.NotBefore == nil || !now.Before(m.NotBefore.Time); due && m.UID == uid && m.Held == "" && m.NodeName == "" && p.Spec.Machines.Deletes() {
			return m
		}
	}
	return nil
}

// ResolveAlone is ResolveMissing for the record of a Machine that has no node.
func ResolveAlone(policies []api.FencePolicy, record string, now time.Time) (r api.ResolvedPolicy, t api.Trigger, ok bool) {
	var mine []api.FencePolicy
	selectors := map[string]*api.LabelSelector{}
	for _, p := range policies {
		for i := range p.Status.FailedMachines {
			m := AloneDue(&p, p.Status.FailedMachines[i].UID, now)
			if m == nil || m.Record() != record || t.Machine != nil && t.Machine.UID != m.UID {
				continue
			}
			selectors[p.Name] = CountedOver(p.Spec.Selector)
			p.Spec.Selector = EveryNode
			mine = append(mine, p)
			t = api.Trigger{
				Type: api.TriggerMachine, Machine: &api.MachineTrigger{MachineRef: m.MachineRef, State: api.MachineStateNoNode}, Since: m.Since,
				Reason: string(api.MachineFailed) + ": Machine " + m.MachineRef.String() + ", which has no node: " + m.Message,
			}
			break
		}
	}
	r, ok = resolveAmong(policies, mine, selectors, record)
	return r, t, ok
}

// MayDelete says what forbids to delete a Machine that has no node, in its present state and
// beside all Nodes of the cluster.
func MayDelete(m *Machine, nodes []NodeIdentity) error {
	if why := m.LeftAlone(); why != "" {
		return errors.New(why)
	}
	if m.Annotations[byPower] == external {
		return errors.New("it has the annotation " + byPower + "=" + external)
	}
	for label, value := range ofControlPlane {
		if v, is := m.Labels[label]; is && (value == "" || v == value) {
			return errors.New("it is of the control plane") // S13: never etcd's quorum
		}
	}
	if m.Ref().Owner == "" {
		return errors.New("no owner controls it: nobody would make another one in its place")
	}
	return m.hasNoNode(nodes)
}

// ofControlPlane are labels that mark Machines of the control plane.
var ofControlPlane = map[string]string{
	"cluster.x-k8s.io/control-plane":                "",
	"machine.openshift.io/cluster-api-machine-role": "master",
	"machine.openshift.io/cluster-api-machine-type": "master",
	"node-role.kubernetes.io/control-plane":         "",
	"node-role.kubernetes.io/controlplane":          "",
	"node-role.kubernetes.io/master":                "",
	"node-role.kubernetes.io/etcd":                  "",
}

// byPower has OpenShift's annotation for a Machine that is remediated by its power.
const byPower, external = "machine.openshift.io/remediation-strategy", "external-baremetal"

package observed

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Some names the first of many.
func Some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Words are what is left, in words: volumes first, since they tell who is to be asked.
func (l *Left) Words() []string {
	all := slices.Clone(l.Names)
	for _, p := range l.Delete {
		name := "pod " + p.Namespace + "/" + p.Name
		if len(p.Finalizers) > 0 {
			name += " (finalizer " + strings.Join(p.Finalizers, ", ") + ")"
		}
		all = append(all, name)
	}
	return all
}

// Left is what still has to go from a node whose machine is proven off.
type Left struct {
	// Delete are the pods that the rule says to force-delete now (S24).
	Delete []Pod
	// Terminating pods have ended and were deleted, and a finalizer holds them.
	Terminating int
	// Attachments of volumes to this node.
	Attachments int
	// Detach are those of them that no pod of the node uses any more.
	Detach []Attachment
	// Budgets are the disruption budgets that pods in Delete name.
	Budgets map[string]Disruption
	// Stay are the pods that are not released because not all of their writable
	// volumes are cut off.
	Stay []string
	// Volumes are those that Delete and Detach are about, as the kubelet names them
	// in the node's volumesInUse; Hidden: there are others, which never stand there.
	Volumes []string
	Hidden  bool
	// Names says in words what is left besides Delete, and what holds it.
	Names []string
}

// Pod is one pod, by UID: another one of its name is another pod (S6).
type Pod struct {
	Namespace, Name string
	UID             types.UID
	// Budgets that it counts for, where they are to be respected, unless it is
	// being deleted already.
	Budgets []string
	// Ready: its Ready condition is True.
	Ready bool
	// Finalizers keep the pod's object after the pod is deleted.
	Finalizers []string
	// Ended: the pod's phase is Succeeded or Failed. A controller of a pod with finalizers may
	// wait for such a phase, and the kubelet of a machine that is off writes none.
	Ended bool
}

// Attachment is one VolumeAttachment, by UID.
type Attachment struct {
	Name string
	UID  types.UID
}

// Disruption is what a PodDisruptionBudget allows now.
type Disruption struct {
	Allowed, Healthy, Wanted int32
	// UnreadyFree: it lets pods go that are not Ready.
	UnreadyFree bool
}

package fence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// some names the first of many.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// unreleased says what is left at the deadline, and what has held it.
func (d *decision) unreleased(left *Left) string {
	r := d.st.Release
	msg := fmt.Sprintf("%d pods and %d attachments are left after %s", r.PodsLeft, r.AttachmentsLeft, d.dec.Settings.Release.Timeout.Duration)
	_, held := permitted(d.dec.Settings.Release, left)
	if len(held) > 0 {
		msg += "; held: " + some(held)
	}
	if names := left.names(); len(names) > 0 {
		msg += ": " + some(names)
	}
	return msg + "; going on"
}

// permitted parts the pods that may be deleted from those that a disruption
// budget holds, and says in words which does. It reads a budget as the API
// server's eviction does, which decides again, pod by pod.
func permitted(c api.ReleaseSettings, left *Left) (free []Pod, held []string) {
	if !c.Deletes() {
		return nil, nil
	}
	if !c.RespectDisruptionBudgets {
		return left.Delete, nil
	}
	budgets := maps.Clone(left.Budgets)
	for _, p := range left.Delete {
		if why := spend(budgets, p); why != "" {
			held = append(held, "pod "+p.Namespace+"/"+p.Name+" by "+why)
			continue
		}
		free = append(free, p)
	}
	return free, held
}

// spend takes one disruption from the pod's budget, or says why it can't.
func spend(budgets map[string]Disruption, p Pod) string {
	switch len(p.Budgets) {
	case 0:
		return ""
	case 1:
	default:
		return "budgets " + strings.Join(p.Budgets, " and ") + ": Kubernetes evicts no pod that counts for two"
	}
	b := budgets[p.Budgets[0]]
	if !p.Ready && (b.UnreadyFree || b.Healthy >= b.Wanted && b.Wanted > 0) {
		return ""
	}
	if b.Allowed <= 0 {
		return fmt.Sprintf("budget %s: %d healthy, %d wanted, %d may go", p.Budgets[0], b.Healthy, b.Wanted, max(0, b.Allowed))
	}
	b.Allowed--
	budgets[p.Budgets[0]] = b
	return ""
}

// names are what is left, in words: volumes first, since they tell who is to be asked.
func (l *Left) names() []string {
	all := slices.Clone(l.Names)
	for _, p := range l.Delete {
		all = append(all, "pod "+p.Namespace+"/"+p.Name)
	}
	return all
}

// Left is what still has to go from a node whose machine is proven off.
type Left struct {
	// Delete are the pods that the rule says to force-delete now (S24).
	Delete []Pod
	// Terminating pods were deleted but are still there, held by a finalizer.
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

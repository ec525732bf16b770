package observed

import "fmt"

// Draining is what of a node's work has still to leave it before its machine is cut.
type Draining struct {
	// Evict are the pods that may be asked to leave, by namespace and name.
	Evict []Pod
	// Leaving are those that are being deleted, by namespace/name.
	Leaving []string
}

// Names are those of the pods that may be asked to leave.
func (d *Draining) Names() (all []string) {
	for _, p := range d.Evict {
		all = append(all, p.Namespace+"/"+p.Name)
	}
	return all
}

// Words say which pods are still on the node.
func (d *Draining) Words() string {
	switch stay, leave := len(d.Evict), len(d.Leaving); {
	case stay+leave == 0:
		return "no pod is left that has to leave"
	case stay == 0:
		return fmt.Sprintf("%d pods are leaving: %s", leave, Some(d.Leaving))
	case leave == 0:
		return fmt.Sprintf("%d pods are left: %s", stay, Some(d.Names()))
	default:
		return fmt.Sprintf("%d pods are left: %s; %d are leaving: %s", stay, Some(d.Names()), leave, Some(d.Leaving))
	}
}

// Evicted is what came of it that this invocation asked pods to leave. It is no evidence that any
// has left.
type Evicted struct {
	// Held are the pods that may not leave now, each with the PodDisruptionBudget that says so.
	Held []string
	// Failed are the pods that could not be asked, each with the error.
	Failed []string
}

package act

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Trust is a person's statement that the node's device may be believed again after a power cut that the boot ID refuted.
// It names the refutation, so that it counts for no later one.
func Trust(f *api.NodeFence, p Person) (Change, error) {
	r := f.Refuted()
	switch {
	case r == nil:
		return Change{}, nothingToDo(f.Name, "no power cut of it is refuted, so there is nothing to trust")
	case p.Reason == "":
		return Change{}, fmt.Errorf("say what you have found, for those who read it later: --reason")
	}
	return Change{
		Resource: "nodefences", Name: f.Name,
		Patch: map[string]any{"metadata": guard(&f.ObjectMeta), "spec": map[string]any{"trust": api.Trust{By: p.Name, At: p.At, Reason: p.Reason, RefutedAt: r.At}}},
		Says: []string{
			fmt.Sprintf("Node %s: %s.", f.Name, r.Words()),
			fmt.Sprintf("You say that %s may be believed again: two reads of off prove again that the machine is off, and its work is started elsewhere. IF THE DEVICE STILL SAYS OFF OF A MACHINE THAT IS ON, DATA IS LOST.", r.Device),
			"Fences of the node begin again, within all limits.",
		},
		Done: fmt.Sprintf("the device of node %s, %s, is trusted again by %s", f.Name, r.Device, p.Name),
	}, nil
}

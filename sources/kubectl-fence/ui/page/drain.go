package page

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// drainWords say how a node was drained before its machine was cut; empty if it was not.
func drainWords(d *api.DrainRecord) string {
	switch {
	case d == nil:
		return ""
	case d.EndedAt == nil:
		return "Its pods are asked to leave" + left(d, "pod is", "pods are") + "."
	}
	after := took(d.EndedAt.Sub(d.BeganAt.Time))
	were := left(d, "pod was", "pods were") + "."
	switch d.Ended {
	case api.DrainEmpty:
		return "Nothing was left that had to leave, after " + after + "."
	case api.DrainTimeIsOver:
		return "Its time was over after " + after + ", and the fence went on" + were
	case api.DrainGivenUp:
		return "Its time was over after " + after + ", and the fence was given up" + were
	case api.DrainSilent:
		return "The node fell silent after " + after + were
	case api.DrainSkipped:
		return "It was ended after " + after + ", because somebody wants none, or says that the machine is off" + were
	}
	return "It ended after " + after + were
}

// left says which pods are left, as far as the record names them.
func left(d *api.DrainRecord, one, many string) string {
	if d.PodsLeft == 0 {
		return ""
	}
	words := "; " + view.Count(d.PodsLeft, one, many) + " left"
	if d.Left != "" {
		words += ": " + d.Left
	}
	return words
}

package admission

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ByAge compares two fences by when they were opened, then by the name of the node.
func ByAge(x, y *api.NodeFence) int {
	var at [2]time.Time
	for i, f := range []*api.NodeFence{x, y} {
		if f.Status.OpenedAt != nil {
			at[i] = f.Status.OpenedAt.Time
		}
	}
	if by := at[0].Compare(at[1]); by != 0 {
		return by
	}
	return strings.Compare(x.Spec.NodeName, y.Spec.NodeName)
}

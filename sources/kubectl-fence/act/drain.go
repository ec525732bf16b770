package act

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Drain writes into a FenceRequest how a node that still lives is drained first, IfReady or Skip, and
// says what that does.
func Drain(q *api.FenceRequest, wish string) (says string, err error) {
	switch api.DrainWish(wish) {
	case api.DrainIfReady:
		return "If the node still lives, its pods are asked to leave first, within their disruption budgets, as drain in its policy says.", nil
	case api.DrainSkip:
		q.Spec.Drain = api.DrainSkip
		return "Its pods are not asked to leave first.", nil
	}
	return "", fmt.Errorf("--drain is %q: write %s or %s", wish, api.DrainIfReady, api.DrainSkip)
}

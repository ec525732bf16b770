package act

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// approved says what an approval at that time does where the fence stands. A fence that was given up does
// not hear it, and one that has begun needs none unless it comes to wait for one.
func approved(f *api.NodeFence, at time.Time) []string {
	st := &f.Status
	begins := "If you approve it, the fence begins once all limits allow it:"
	switch phase := f.CurrentPhase(); {
	case phase == api.Failed && st.CutOrReleased:
		return []string{fmt.Sprintf("It was given up after power was cut, or work released: this approval begins nothing. Retry it (kubectl fence retry %s), and approve it then.", f.Name)}
	case phase == api.Failed:
		begins = fmt.Sprintf("It was given up: this approval begins nothing before somebody retries it (kubectl fence retry %s). Then the fence begins once all limits allow it:", f.Name)
	case phase != api.Pending && st.WaitsFor != api.WaitsForApproval:
		return []string{"It has begun, so this approval is late: it changes nothing unless the fence comes to wait for one."}
	}
	return append([]string{begins}, Follows(&st.Decision, f, at)...)
}

package fence

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestJobsAreRecorded: those of every call, the last ones; not those of a call
// whose claim is gone.
func TestJobsAreRecorded(t *testing.T) {
	d := decision{spec: &api.NodeFenceSpec{}, seen: Seen{Me: "me"}, now: walkStart}
	var want []string
	for i := range maxJobs + 3 {
		name := fmt.Sprint("call-", i)
		d.st.Claim = &api.Claim{Holder: "me", Call: api.CallRead}
		d.seen.Call = &CallResult{Call: api.CallRead, At: walkStart, Jobs: []string{name}}
		d.noteCall()
		want = append(want, name)
	}
	d.seen.Call = &CallResult{Call: api.CallRead, At: walkStart, Jobs: []string{"late"}}
	d.noteCall()
	if diff := cmp.Diff(want[3:], d.st.Jobs); diff != "" {
		t.Error(diff)
	}
}

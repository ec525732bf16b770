package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// maxJobs is how many of a fence's Jobs are kept in its record.
const maxJobs = 16

// noteJobs records in which Jobs an agent ran for a call.
func (d *decision) noteJobs(c *CallResult) {
	d.st.Jobs = append(d.st.Jobs, c.Jobs...)
	if n := len(d.st.Jobs) - maxJobs; n > 0 {
		d.st.Jobs = d.st.Jobs[n:]
	}
}

// late is how late a call that has come back may still take effect. The declared
// longest delay is also for what carries calls out where nobody sees it: a pod that
// was not seen to end. It is waited for in full, unless this call was seen to end and
// came back well, and none before it is on its way (S8, S10).
func (d *decision) late(claim *api.Claim, c *CallResult) time.Duration {
	longest := d.effectDelay()
	if c.Late == nil || c.Err != "" || !claim.NoEarlierEffect {
		return longest
	}
	return min(*c.Late, longest)
}

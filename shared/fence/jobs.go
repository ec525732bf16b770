package fence

// maxJobs is how many of a fence's Jobs are kept in its record.
const maxJobs = 16

// noteJobs records in which Jobs an agent ran for a call.
func (d *decision) noteJobs(c *CallResult) {
	d.st.Jobs = append(d.st.Jobs, c.Jobs...)
	if n := len(d.st.Jobs) - maxJobs; n > 0 {
		d.st.Jobs = d.st.Jobs[n:]
	}
}

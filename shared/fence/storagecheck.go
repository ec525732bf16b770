package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// storageDown asks the policy's storageCheck, and holds while it says that the
// storage is unreachable for everyone.
func (d *decision) storageDown() outcome {
	p := d.dec.Settings.StorageCheck
	if p == nil {
		return goOn
	}
	if d.st.StorageCheck == nil {
		d.st.StorageCheck = &api.CheckRound{}
	}
	r := d.st.StorageCheck
	if r.StartedAt != nil || !d.within(r.EndedAt, p.ValidDuration.Duration) {
		return d.ask(r, "asking whether the storage is reachable")
	}
	for _, c := range r.Results {
		switch {
		case c.Answer == api.AnswerNone:
			d.stay(api.StorageUnreachable, "the storage is unreachable for everyone: "+c.Check+": "+c.Message, 0)
			return d.waitUntil(r.EndedAt.Add(p.ValidDuration.Duration + time.Millisecond))
		case c.Answer == api.AnswerError && r.EndedAt.Time.Equal(d.at(0).Time):
			d.tell(api.CheckingActivity, "the storage check went wrong, which holds nothing: "+c.Check+": "+c.Message)
		}
	}
	return goOn
}

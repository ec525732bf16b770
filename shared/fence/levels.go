package fence

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// anotherLevel: there is one that was not tried in this pass. The word of a
// person who ended the fence stops the climb: another level is another Off (S25).
func (d *decision) anotherLevel() bool {
	return int(d.st.Power.Level)+1 < d.levels() && !d.seen.Deleting && d.requests.Abort == nil
}

// nextLevel goes on to the node's next device. What the last one said does not
// count for this one (S3); what it may still do is waited for before any power-on.
func (d *decision) nextLevel(why api.Reason, msg string) outcome {
	d.tell(why, msg)
	p := &d.st.Power
	p.Level++
	p.LastRead, p.FirstOff, p.OffAt, p.NotBefore = nil, nil, nil, nil
	d.st.Retries = 0
	b := d.binding()
	d.tell(api.NextLevel, fmt.Sprintf("level %d of %d: %s", p.Level+1, d.levels(), b.Words()))
	d.lookAfter(0)
	return settled
}

// noteCut remembers that this level was told to cut the power.
func (d *decision) noteCut() {
	if !slices.Contains(d.st.Power.Cut, d.st.Power.Level) {
		d.st.Power.Cut = append(d.st.Power.Cut, d.st.Power.Level)
	}
}

// undoNextLevel: this level reads on; a lower one that was cut is next.
func (d *decision) undoNextLevel() outcome {
	p := &d.st.Power
	p.Cut = slices.DeleteFunc(slices.Clone(p.Cut), func(l int32) bool { return l == p.Level })
	if len(p.Cut) == 0 {
		p.Cut = nil
		return goOn
	}
	d.tell(api.SeenOn, fmt.Sprintf("level %d reads on", p.Level+1))
	p.Level = d.highestCut()
	p.LastRead, p.OnAt, p.NotBefore = nil, nil, nil
	d.lookAfter(0)
	return settled
}

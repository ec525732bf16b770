package fence

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// to enters a phase.
func (d *decision) to(p api.Phase, why api.Reason, msg string) Action {
	p = d.instead(p, why, msg)
	if p != d.st.Phase {
		d.st.Power.FirstOff = nil // half a proof does not outlive its phase (S3)
		if !p.HoldsSlot() && p != api.Failed && d.st.Awaited != nil {
			d.st.Awaited = nil
			d.restartIsolation() // its devices are not left alone under the next slot
		}
		d.st.Phase, d.st.PhaseSince = p, d.at(0)
		d.st.Transitions++
		if p == api.PoweringOn {
			d.st.Power.Level, d.st.Power.LastRead, d.st.Retries, d.st.Power.SupplyTries = d.highestCut(), nil, 0, 0 // S9; its tries are of this step
		}
	}
	d.tell(why, msg)
	d.next(Handover)
	if p == api.Finished {
		d.st.NextLook, d.st.Claim = nil, nil
		d.lastWords()
	}
	return None
}

// hold stays, says why, and asks to be looked at again.
func (d *decision) hold(why api.Reason, msg string, again time.Duration) Action {
	d.tell(why, msg)
	d.next(again)
	return None
}

// do asks for an action on Kubernetes. If we die in it, the record is due again soon.
func (d *decision) do(a Action) Action {
	d.next(ActWithin)
	return a
}

// aside is a sentence of the story that does not say where the fence stands.
func (d *decision) aside(why api.Reason, msg string) {
	reason, message := d.st.Reason, d.st.Message
	d.tell(why, msg)
	d.st.Reason, d.st.Message = reason, message
}

// tell adds a sentence to the story, unless it is the last one over again.
func (d *decision) tell(why api.Reason, msg string) {
	msg = clip.Message(msg)
	d.st.Reason, d.st.Message = why, msg
	if n := len(d.st.History); n > 0 {
		last := d.st.History[n-1]
		if last.Phase == d.st.Phase && last.Reason == why && last.Message == msg {
			return
		}
	}
	d.st.History = append(d.st.History, api.HistoryEntry{At: d.time(), Phase: d.st.Phase, Reason: why, Message: msg})
	if len(d.st.History) > maxHistory {
		// The beginning says why, the end says where it stands: the middle goes.
		keep := maxHistory / 4
		d.st.History = append(d.st.History[:keep:keep], d.st.History[keep+1:]...)
	}
}

func (d *decision) next(after time.Duration) { d.st.NextLook = d.at(after) }

func (d *decision) nextAt(t time.Time) {
	if t.Before(d.now) {
		t = d.now
	}
	d.st.NextLook = d.stamp(t)
}

// awaken asks to be looked at again at t. Who was woken shortly before t has a
// clock that runs behind its waker's: it asks for as much later.
func (d *decision) awaken(t time.Time) {
	if early := t.Sub(d.now); early < time.Second {
		t = t.Add(early + 20*time.Millisecond)
	}
	d.nextAt(t)
}

func (d *decision) at(after time.Duration) *api.Time { return d.stamp(d.now.Add(after)) }

func (d *decision) time() api.Time { return *d.at(0) }

// stamp cuts to the microseconds that the API server keeps, so that what was
// saved and read again equals what was decided.
func (d *decision) stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

func (d *decision) since(t *api.Time) time.Duration {
	if t == nil {
		return 1<<63 - 1 // never: older than any limit
	}
	return d.now.Sub(t.Time)
}

// within: not older than that, and not of a time that is still to come either. Where
// the API server's clock was set back, what was seen before is of unknown age (S3, S30).
func (d *decision) within(t *api.Time, age time.Duration) bool {
	return t != nil && Fresh(t.Time, d.now, age)
}

func Fresh(t, now time.Time, age time.Duration) bool {
	is := now.Sub(t)
	return is <= age && !ahead(t, now)
}

// ahead: the time is of a clock that was set back since.
func ahead(t, now time.Time) bool { return t.Sub(now) > clockSlack }

// describe derives the words that people and other systems read.
func (d *decision) describe() {
	st := &d.st
	st.Views.NodeFencing = api.NodeFencingView{Step: st.Phase.Step(), Status: st.Phase.Status()}
	if st.Phase != api.Finished && st.NextLook == nil {
		st.NextLook = d.at(Resync)
	}
	d.conditions()
}

func (d *decision) fenceUID() types.UID { return types.UID(d.uid) }

func StampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}

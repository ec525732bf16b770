package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence for which a person's word that the machine is off stands from the beginning,
// until the word has its last answer. Elsewhere a word is there for one look only.

// deviceAnswers is what each power device has really answered.
type deviceAnswers struct {
	devices [2]answered
}

// answered is what one device has said: whether the last answer was that the machine is on, and the
// first and the last of the answers since then.
type answered struct {
	on          bool
	first, last time.Time
}

func (s *State) isWord() bool { return s.spec.Requests.ConfirmOff != nil }

// pastWord: from here the fence goes on like any other.
func (s *State) pastWord() bool {
	if !s.isWord() {
		return false
	}
	gate := s.st.Phase == "" || s.st.Phase == api.Pending || s.st.Phase == api.Isolating || s.atDevice()
	return !gate || s.sh.cut || s.st.Answered(api.AskedConfirmOff, s.spec.Requests.ConfirmOff.At)
}

// wordKey tells apart what stands in the record of the reads, and what was really answered.
func (s *State) wordKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isWord() || !s.atDevice() && s.st.ConfirmReads == nil {
		return nil
	}
	hold := (&facts.Facts{Decision: &s.spec.Decision, Record: &s.st}).WordReadsHold()
	k := []any{"word"}
	if c := s.st.Claim; c != nil {
		k = append(k, c.Device)
	}
	if r := s.st.ConfirmReads; r != nil {
		for _, d := range r.Devices {
			for _, one := range []*api.Read{d.First, d.Last} {
				if one == nil {
					k = append(k, "-")
					continue
				}
				k = append(k, string(one.State)+age(&one.At, hold))
			}
			k = append(k, d.First != nil && d.Last != nil && d.Last.At.Sub(d.First.At.Time) >= fencetest.Lead)
		}
	}
	for _, a := range s.sh.devices {
		k = append(k, a.on, !a.first.IsZero(), a.last.Sub(a.first) >= promisedSettle)
	}
	return k
}

// hears keeps what a power device has answered. It returns false where that device is another than the
// one that is spoken with: what it says is no read of that one (S3).
func (sh *shadow) hears(dec *api.Decision, st *api.NodeFenceStatus, c *observed.CallResult) bool {
	levels := dec.PowerLevels()
	for i := range levels {
		if levels[i].Name != st.Claim.Device || i >= len(sh.devices) {
			continue
		}
		a := &sh.devices[i]
		switch on := c.Power == "On" && !c.Wrong; {
		case on:
			*a = answered{on: true}
		case a.on || a.first.IsZero():
			*a = answered{first: c.At, last: c.At}
		default:
			a.last = c.At
		}
		return levels[i].Name == dec.Power(st.Power.Level).Name
	}
	return true
}

// checkWord holds what is promised of a word that is taken for the proof.
func checkWord(s *State, sh *shadow, say func(bool, string)) {
	for i := range s.spec.Decision.PowerLevels() {
		a := sh.devices[i]
		say(!a.on, "S1, S2: no word is believed against a power device that reads on")
		say(a.on || !a.first.IsZero(), "S1, S2: no word is believed before each power device was read")
		say(a.on || a.first.IsZero() || a.last.Sub(a.first) >= promisedSettle, "S2: no word is believed before each power device was read twice, a settle apart")
	}
}

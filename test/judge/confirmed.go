package judge

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// judgeConfirmed: a person said so, in that person's own name, and no power device of the machine reads on.
func (t *timeline) judgeConfirmed(node string, m made) {
	word := m.object.Spec.Requests.ConfirmOff
	if word == nil || word.FenceNumber != m.object.Status.FenceNumber || word.By != m.By {
		t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof is the word of %q, and spec.requests.confirmOff does not have it", m.By))
		return
	}
	said := t.firstSaid(node, m)
	if said == nil {
		t.leaveOut("who confirmed that %s is off: the history does not have the request", node)
		return
	}
	if said.User != word.By && !t.declares(FalseWord, node) {
		t.leaveOut("whether %s confirmed that %s is off: %s wrote the request", word.By, node, said.User)
	}
	within := interval{said.Received, m.Done}
	for _, b := range m.object.Status.Decision.Devices {
		if b.Role != api.RolePower {
			continue
		}
		t.judgeAskedTwice(node, m, b.Name, within)
		for _, address := range addressesOf(&b) {
			t.judgeLastAnswer(node, m, address, within)
		}
	}
}

// firstSaid returns the write of the confirmation.
func (t *timeline) firstSaid(node string, m made) *Write {
	at := m.object.Spec.Requests.ConfirmOff.At
	for i := range t.fences[node] {
		v := &t.fences[node][i]
		if v.object == nil || v.object.Spec.Requests.ConfirmOff == nil || !v.object.Spec.Requests.ConfirmOff.At.Equal(&at) {
			continue
		}
		if i == 0 {
			return nil
		}
		return v.Write
	}
	return nil
}

// judgeAskedTwice: since the confirmation the device was asked twice, some time apart. A device need not
// answer, so that the claims of the reads count, and not the device's journal.
func (t *timeline) judgeAskedTwice(node string, m made, device string, within interval) {
	var asked []time.Time
	var cited []Cited
	for _, k := range listClaims(t.fences[node], api.CallRead) {
		if k.Device == device && within.has(k.from.Received) {
			asked = append(asked, k.At.Time)
			cited = append(cited, k.cite())
		}
	}
	if len(asked) < 2 || asked[len(asked)-1].Sub(asked[0]) < settle {
		t.breachOf(m, proofFirst, node, fmt.Sprintf("a person is believed, and device %s was not read twice, %s apart, since the confirmation", device, settle), cited...)
	}
}

// judgeLastAnswer: the last answer of the device before the proof is not on.
func (t *timeline) judgeLastAnswer(node string, m made, address string, within interval) {
	var last *Command
	for _, c := range t.told[node] {
		if c.Address == address && c.Says != "" && within.has(c.Time) {
			last = c
		}
	}
	if last != nil && last.Says == "on" {
		t.breachOf(m, proofFirst, node, "a person is believed although the machine's device reads on", last.cite())
	}
}

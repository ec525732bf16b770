package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The promises about proofs.
const (
	proofFirst = "S1: nothing is released before the NodeFence holds a proof"
	aboutThis  = "S3: a proof is about this machine, this boot and this time"
	timeToBe   = "S5: a machine that was just switched off gets time to be off"
)

const (
	// settle is the least time between the two reads of a proof.
	settle = 2 * time.Second
	// usualLead is the lead of a device without a declared lead.
	usualLead = 5 * time.Second
	// unseenLead bounds the lead of a device where nodefence did not switch the machine off.
	unseenLead = 20 * time.Second
)

// made is a proof, with the first version of the fence that holds the proof.
type made struct {
	*api.Proof
	*version[api.NodeFence]
}

// listProofs returns the proofs of a node's fences, once for each fence.
func listProofs(all versions[api.NodeFence]) (found []made) {
	for i := range all {
		v := &all[i]
		if v.object == nil || v.object.Status.Proof == nil {
			continue
		}
		p := v.object.Status.Proof
		is := func(m made) bool {
			return m.Proof.At.Equal(&p.At) && m.object.Status.FenceNumber == v.object.Status.FenceNumber && m.Proof.Type == p.Type
		}
		if !slices.ContainsFunc(found, is) {
			found = append(found, made{p, v})
		}
	}
	return found
}

// judgeProofs looks for the evidence of each proof. The evidence of a proof in the first version of a history
// is not in the logs.
func (t *timeline) judgeProofs() {
	for node, all := range t.fences {
		if t.declares(OthersWrite, node) {
			continue
		}
		for _, m := range listProofs(all) {
			if m.version == &all[0] {
				t.leaveOut("a proof of %s that was made before the history begins", node)
				continue
			}
			if !m.ofNodefence() {
				t.leaveOut("a proof of %s that %s wrote, who is not a function of nodefence", node, m.User)
				continue
			}
			t.countOne("proofs")
			t.judgeBinding(node, m)
			switch m.Type {
			case api.ProofSeenOff:
				t.judgeSeenOff(node, m)
			case api.ProofConfirmed:
				t.judgeConfirmed(node, m)
			case api.ProofStorageCut:
				t.judgeStorageCut(node, m)
			case api.ProofKdump:
				t.leaveOut("the messages of the dump of %s: no log has them", node)
			default:
				t.breachOf(m, proofFirst, node, "there is no proof of type "+string(m.Type))
			}
		}
	}
}

// breachOf is a breach by a proof.
func (t *timeline) breachOf(m made, promise, node, what string, against ...Cited) {
	t.addBreach(promise, node, m.object.Status.FenceNumber, what, append(against, m.cite(fmt.Sprintf("the record holds a %s proof of %s", m.Type, m.Proof.At.UTC().Format("15:04:05.000"))))...)
}

// judgeBinding: a proof names the fence, its number and the Node.
func (t *timeline) judgeBinding(node string, m made) {
	f := m.object
	switch {
	case m.FenceUID != f.UID:
		t.breachOf(m, aboutThis, node, fmt.Sprintf("the proof is of NodeFence %s, and the record is %s", m.FenceUID, f.UID))
	case m.Proof.FenceNumber != f.Status.FenceNumber:
		t.breachOf(m, aboutThis, node, fmt.Sprintf("the proof is of fence %d, and the record is of fence %d", m.Proof.FenceNumber, f.Status.FenceNumber))
	case m.NodeUID != f.Status.Decision.NodeUID:
		t.breachOf(m, aboutThis, node, fmt.Sprintf("the proof is of Node %s, and the fence is of Node %s", m.NodeUID, f.Status.Decision.NodeUID))
	}
}

// judgeSeenOff: the machine was read off twice, some time apart; in between nothing shows the machine on.
func (t *timeline) judgeSeenOff(node string, m made) {
	if len(m.Reads) != 2 || m.Reads[0].State != api.PoweredOff || m.Reads[1].State != api.PoweredOff {
		t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof rests on %d reads, and two of off are needed", len(m.Reads)))
		return
	}
	b := m.object.Status.Decision.Device(m.Device)
	if b == nil {
		t.leaveOut("the reads of %s: its record names device %q, and has none of that name", node, m.Device)
		return
	}
	apart, least := m.Reads[1].At.Sub(m.Reads[0].At.Time), leastApart(m.object, b)
	if apart < least {
		t.breachOf(m, timeToBe, node, fmt.Sprintf("the two reads are %s apart, and %s are needed", apart, least))
	}
	first, second := t.readAt(node, m, b, 0), t.readAt(node, m, b, 1)
	from, to := m.Reads[0].At.Time, m.Reads[1].At.Time
	if len(first) > 0 && len(second) > 0 {
		from, to = first[0].Time, second[0].Time
	}
	t.judgeBetween(node, m, b, interval{from, to})
}

// leastApart is the least time between the two reads. Once work was released the machine was proven off
// before, and the device's lead is over.
func leastApart(f *api.NodeFence, b *api.Binding) time.Duration {
	if f.Status.Release.StartedAt != nil {
		return settle
	}
	lead := usualLead
	if b.Lead != nil {
		lead = b.Lead.Duration
	}
	if !f.Status.Power.SwitchedByUs {
		lead = min(lead, unseenLead)
	}
	return max(settle, lead)
}

// readAt finds the answers of off on which a read of a proof rests, from each member of the device.
func (t *timeline) readAt(node string, m made, b *api.Binding, i int) (found []*Command) {
	r := m.Reads[i]
	within := interval{r.At.Add(-clockSlack), r.At.Add(callLimit(m.object) + clockSlack + commandTravels)}
	for _, address := range addressesOf(b) {
		if !t.hasJournal(address) {
			t.leaveOut("the reads of %s by driver %s: the device has no journal", node, b.Driver)
			continue
		}
		off := slices.IndexFunc(t.told[node], func(c *Command) bool {
			return c.Address == address && c.Says == "off" && within.has(c.Time)
		})
		if off < 0 {
			t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof names a read of off at %s, and the device at %s said no such thing", r.At.UTC().Format("15:04:05.000"), address), t.saidNear(node, within)...)
			continue
		}
		found = append(found, t.told[node][off])
	}
	return found
}

// hasJournal reports whether a journal has a device.
func (t *timeline) hasJournal(address string) bool {
	return slices.ContainsFunc(t.Commands, func(c Command) bool { return c.Address == address })
}

// saidNear are the reads of a machine's devices in a time.
func (t *timeline) saidNear(node string, within interval) (all []Cited) {
	for _, c := range t.told[node] {
		if c.Command == "status" && within.has(c.Time) {
			all = append(all, c.cite())
		}
	}
	return all
}

// judgeBetween: between the two reads the device neither says on nor is told on, and no Lease is renewed.
func (t *timeline) judgeBetween(node string, m made, b *api.Binding, between interval) {
	for _, c := range t.told[node] {
		if !slices.Contains(addressesOf(b), c.Address) || !between.has(c.Time) || len(b.Members) > 0 {
			continue
		}
		if c.Says == "on" || c.Command == "on" && c.Accepted {
			t.breachOf(m, proofFirst, node, "between the two reads of off the machine is on", c.cite())
		}
	}
	for _, w := range t.renewals[node] {
		if between.has(w.Received) && between.has(w.Done) {
			t.breachOf(m, timeToBe, node, "the node's Lease is renewed between the two reads of off", w.cite("the Lease is renewed"))
			return
		}
	}
}

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

// judgeStorageCut: each device reads cut twice, some time apart, by the record.
func (t *timeline) judgeStorageCut(node string, m made) {
	t.leaveOut("the reads of %s: devices that cut storage have no journal", node)
	devices := strings.Split(m.Device, ", ")
	if len(m.Reads) != 2*len(devices) {
		t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof rests on %d reads of %d devices, and each must be read twice", len(m.Reads), len(devices)))
		return
	}
	for pair := range slices.Chunk(m.Reads, 2) {
		if pair[0].State != api.PoweredOff || pair[1].State != api.PoweredOff || pair[1].At.Sub(pair[0].At.Time) < settle {
			t.breachOf(m, proofFirst, node, "a device was not read cut twice, some time apart")
		}
	}
}

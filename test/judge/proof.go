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

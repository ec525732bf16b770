package judge

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The promises about used evidence.
const (
	usedOnce      = "S3: a proof is made again, and no evidence is used twice"
	wordOfOne     = "S20: a person's word is about one fence"
	requestOfOnce = "S18: a request is served once"
)

// judgeEvidence: no read is part of two proofs, no confirmation proves two fences, and no event asks for
// two fences.
func (t *timeline) judgeEvidence() {
	for node, all := range t.fences {
		if t.declares(OthersWrite, node) {
			continue
		}
		reads, words := map[string]made{}, map[string]made{}
		for _, m := range listProofs(all) {
			t.judgeReads(node, m, reads)
			if word := m.object.Spec.Requests.ConfirmOff; m.Type == api.ProofConfirmed && word != nil {
				key := word.By + " at " + word.At.UTC().String()
				if before, is := words[key]; is && before.Epoch == m.Epoch && before.Proof.FenceNumber != m.Proof.FenceNumber {
					t.breachOf(m, wordOfOne, node, "the confirmation by "+key+" has proven fence "+fmt.Sprint(before.Proof.FenceNumber)+" too", before.cite("the other proof"))
				}
				words[key] = m
			}
		}
		t.judgeAskers(node, all)
	}
}

func (t *timeline) judgeReads(node string, m made, used map[string]made) {
	for _, r := range m.Reads {
		if r.At.IsZero() {
			continue
		}
		key := m.Device + r.At.UTC().String()
		if before, is := used[key]; is && before.Epoch == m.Epoch && !before.Proof.At.Equal(&m.Proof.At) {
			t.breachOf(m, usedOnce, node, "the read at "+r.At.UTC().Format("15:04:05.000000")+" is part of an earlier proof", before.cite("the other proof"))
			return
		}
	}
	for _, r := range m.Reads {
		used[m.Device+r.At.UTC().String()] = m
	}
}

// judgeAskers: an event that opened a fence, or joined a fence in time, asks for no later fence.
func (t *timeline) judgeAskers(node string, all versions[api.NodeFence]) {
	served := map[string]*version[api.NodeFence]{}
	for i := range all {
		v := &all[i]
		if v.object == nil {
			continue
		}
		for _, a := range v.object.Status.Decision.AskedBy {
			key := a.ID + " of " + a.Source
			before := served[key]
			if before != nil && before.Epoch == v.Epoch && before.object.UID == v.object.UID && before.object.Status.FenceNumber != v.object.Status.FenceNumber && !a.Served {
				t.addBreach(requestOfOnce, node, v.object.Status.FenceNumber, "event "+key+" asks for this fence, and has asked for fence "+fmt.Sprint(before.object.Status.FenceNumber), before.cite("the other fence"), v.cite("this fence"))
				return
			}
			if before == nil {
				served[key] = v
			}
		}
	}
}

package fence

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// released: the out-of-service taint goes first (S23), then the machine comes
// back, if it was we who cut it.
func (d *decision) released() outcome {
	if o := d.clearOutOfService(); o.decided {
		return o
	}
	if d.Record.Release.DoneAt == nil {
		d.Record.Release.DoneAt = d.At(0)
	}
	d.takeOver()
	d.Record.Power.LastRead, d.Record.Power.NotBefore, d.Record.Retries = nil, nil, 0
	reason, msg := api.Released, fmt.Sprintf("%d pods released", d.Record.Release.Pods)
	if d.Record.Release.TimedOut {
		reason, msg = api.ReleaseTimedOut, d.LeftBehind()
	}
	if p := d.Record.Proof; p != nil && p.Type == api.ProofStorageCut {
		return d.cutReleased(reason, msg)
	}
	o, left := d.nodeGoes()
	if o.decided {
		return o
	}
	if d.OwesPowerOn() {
		return d.enter(api.PoweringOn, reason, msg)
	}
	d.tell(reason, msg)
	why := d.StaysOff()
	if !d.Record.Power.SwitchedByUs {
		why = "it was not nodefence that switched this machine off"
	}
	if d.Record.Release.TimedOut {
		why += "; " + msg
	}
	return d.leave(api.Fenced, api.StaysOff, why+left)
}

// timedOut ends a release before all was free.
func (d *decision) timedOut(msg string) outcome {
	d.noteTimedOut(msg)
	return d.released()
}

// noteTimedOut does not take back that a release was done.
func (d *decision) noteTimedOut(msg string) {
	d.Record.Release.TimedOut = d.Record.Release.TimedOut || d.Record.Release.DoneAt == nil
	d.tell(api.ReleaseTimedOut, msg)
}

// clearOutOfService takes the taint off, if it stays.
func (d *decision) clearOutOfService() outcome {
	if d.OutOfServiceStays() {
		return d.carryOut(ClearOutOfService)
	}
	d.noteOutOfServiceGone()
	return goOn
}

// nodeGone is the release of a node that has no Node object.
func (d *decision) nodeGone() outcome {
	if o := d.workLeft(api.SeenOff, ""); o.decided {
		return o
	}
	return d.released()
}

// noteLeft writes down what is left. A pod that was left at the look before, after some were asked to
// go, and is there no more is released. What is asked for is not counted: a pod that does not go is
// asked again, and the out-of-service taint asks for none by its name.
func (d *decision) noteLeft(left *observed.Left) {
	r, pods := &d.Record.Release, int32(len(left.Delete)+left.Terminating)
	if r.AskedAt != nil {
		r.Pods += max(0, r.PodsLeft-pods)
	}
	r.PodsLeft, r.AttachmentsLeft = pods, int32(left.Attachments)
}

// noteBoot keeps the boot that a proof is about (S3). Until work is released the reads are
// begun anew after each other boot.
func (d *decision) noteBoot() {
	boot := d.Seen.Node.BootID
	if r := d.Record.Release; r.By != "" {
		d.Record.BootIDBefore = r.BootID
		return
	}
	if d.Record.BootIDBefore != boot {
		d.Record.BootIDBefore = boot
		d.isolationRecords()
		for i := range d.Record.Isolation {
			d.Record.Isolation[i].FirstCut = nil
		}
	}
}

// provenByCut releases what every device that counts was seen to have cut off (S1).
func (d *decision) provenByCut() outcome {
	d.proveCut()
	return d.enter(api.Releasing, api.SeenCutOff, "its storage was seen cut off twice: pods all of whose writable volumes that covers are released, and no others")
}

// noteRelease keeps what giving access back depends on: what was released, on which
// proof, and about which boot.
func (d *decision) noteRelease(act Action) {
	r, left, p := &d.Record.Release, d.Seen.Left, d.Record.Proof
	if len(d.Decision.Isolation()) == 0 || left == nil || d.Record.Phase != api.Releasing {
		return
	}
	if facts.CutOnly(d.Decision) {
		r.KeptPods = ""
		if len(left.Stay) > 0 {
			r.KeptPods = clip.Message(fmt.Sprintf("%d pods stay, as not all of their writable volumes are cut off: %s", len(left.Stay), observed.Some(left.Stay)))
		}
	}
	if act != Release || p == nil {
		return
	}
	if r.By == "" {
		r.By, r.BootID = p.Type, p.BootIDBefore
	}
	if p.Type != api.ProofStorageCut {
		return
	}
	// What is released and not named is not seen to be out of use (S2).
	r.RebootOnly = r.RebootOnly || left.Hidden || len(left.Volumes) == 0
	for _, v := range left.Volumes {
		switch {
		case len(v) > facts.LongestVolume:
			r.RebootOnly = true
		case !slices.Contains(r.Volumes, v):
			r.Volumes = append(r.Volumes, v)
		}
	}
	if len(r.Volumes) > facts.MaxVolumes {
		r.Volumes, r.RebootOnly = nil, true
	}
}

package fence

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// ReleaseOf is how the work of this node is released. What only a cut has proven is
// released pod by pod, whatever the policy says; None stays None.
func ReleaseOf(f *api.NodeFence) api.ReleaseSettings {
	how := f.Status.Decision.Settings.Release
	if Covered(f) != nil && how.Strategy != api.ReleaseNone {
		how.Strategy = api.ReleaseResourceDeletion
	}
	return how
}

// Covered is the storage to which a release is held; nil if the machine itself is,
// or will be, proven off.
func Covered(f *api.NodeFence) *api.Coverage {
	if p := f.Status.Proof; !CutOnly(&f.Status.Decision) || p != nil && p.Type == api.ProofConfirmed {
		return nil
	}
	var all api.Coverage
	for _, b := range f.Status.Decision.Isolation() {
		if proves(b) {
			all.StorageClassNames = append(all.StorageClassNames, b.Covers.StorageClassNames...)
			all.CSIDriverNames = append(all.CSIDriverNames, b.Covers.CSIDriverNames...)
		}
	}
	return &all
}

// effective is the decision with the release that counts for this fence. It is decided by
// and never saved.
func effective(f *api.NodeFence) *api.Decision {
	if Covered(f) == nil {
		return &f.Status.Decision
	}
	dec := f.Status.Decision
	dec.Settings.Release = ReleaseOf(f)
	return &dec
}

// rebootedWithin: the machine has rebooted since its work was released by a cut (S4).
func (d *decision) rebootedWithin() bool {
	r := d.st.Release
	return r.By != "" && d.seen.Node.BootID != r.BootID
}

// noteBoot keeps the boot that a proof is about (S3). Until work is released the reads are
// begun anew after each other boot.
func (d *decision) noteBoot() {
	boot := d.seen.Node.BootID
	if r := d.st.Release; r.By != "" {
		d.st.BootIDBefore = r.BootID
		return
	}
	if d.st.BootIDBefore != boot {
		d.st.BootIDBefore = boot
		d.isolationRecords()
		for i := range d.st.Isolation {
			d.st.Isolation[i].FirstCut = nil
		}
	}
}

// givenBackByOthers: what somebody else had cut, and on which the release rested,
// reads as there again. It was not ours to cut, and is not now (S12).
func (d *decision) givenBackByOthers() bool {
	for i, b := range d.dec.Isolation() {
		r := d.record(i)
		if proves(b) && !r.SwitchedByUs && r.LastRead != nil && r.LastRead.State == api.PoweredOn {
			return true
		}
	}
	return false
}

// provenByCut releases what every device that counts was seen to have cut off (S1).
func (d *decision) provenByCut() outcome {
	d.proveCut()
	return d.enter(api.Releasing, api.SeenCutOff, "its storage was seen cut off twice: pods all of whose writable volumes that covers are released, and no others")
}

// noteRelease keeps what giving access back depends on: what was released, on which
// proof, and about which boot.
func (d *decision) noteRelease(act Action) {
	r, left, p := &d.st.Release, d.seen.Left, d.st.Proof
	if len(d.dec.Isolation()) == 0 || left == nil || d.st.Phase != api.Releasing {
		return
	}
	if CutOnly(d.dec) {
		r.KeptPods = ""
		if len(left.Stay) > 0 {
			r.KeptPods = clip.Message(fmt.Sprintf("%d pods stay, as not all of their writable volumes are cut off: %s", len(left.Stay), some(left.Stay)))
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
		case len(v) > longestVolume:
			r.RebootOnly = true
		case !slices.Contains(r.Volumes, v):
			r.Volumes = append(r.Volumes, v)
		}
	}
	if len(r.Volumes) > maxVolumes {
		r.Volumes, r.RebootOnly = nil, true
	}
}

// maxVolumes and longestVolume bound the record; they are the API's.
const (
	maxVolumes    = 64
	longestVolume = 1024
)

// cutDone: nothing more is to be done about this device. Where its cut is the proof,
// that is two reads, a settle apart, of which the last is fresh (S1, S3).
func (d *decision) cutDone(i int) bool {
	r := d.record(i)
	switch {
	case r.GaveUp:
		return true
	case !CutOnly(d.dec) || !proves(d.dec.Isolation()[i]):
		return r.SeenCutAt != nil
	}
	return d.seenCutTwice(r)
}

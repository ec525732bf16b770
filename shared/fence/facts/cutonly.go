package facts

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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
		if Proves(b) {
			all.StorageClassNames = append(all.StorageClassNames, b.Covers.StorageClassNames...)
			all.CSIDriverNames = append(all.CSIDriverNames, b.Covers.CSIDriverNames...)
		}
	}
	return &all
}

// Effective is the decision with the release that counts for this fence. It is decided by
// and never saved.
func Effective(f *api.NodeFence) *api.Decision {
	if Covered(f) == nil {
		return &f.Status.Decision
	}
	dec := f.Status.Decision
	dec.Settings.Release = ReleaseOf(f)
	return &dec
}

// RebootedWithin: the machine has rebooted since its work was released by a cut (S4).
func (d *Facts) RebootedWithin() bool {
	r := d.Record.Release
	return r.By != "" && d.Seen.Node.BootID != r.BootID
}

// GivenBackByOthers: what somebody else had cut, and on which the release rested,
// reads as there again. It was not ours to cut, and is not now (S12).
func (d *Facts) GivenBackByOthers() bool {
	for i, b := range d.Decision.Isolation() {
		r := d.CutRecord(i)
		if Proves(b) && !r.SwitchedByUs && r.LastRead != nil && r.LastRead.State == api.PoweredOn {
			return true
		}
	}
	return false
}

// MaxVolumes and LongestVolume bound the record; they are the API's.
const (
	MaxVolumes    = 64
	LongestVolume = 1024
)

package fence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAProofByEveryDeviceFits: a node may have four devices that cut it off from storage,
// each of which is seen twice. A proof that its schema does not take could never be saved,
// and the work would stay where it is for ever.
func TestAProofByEveryDeviceFits(t *testing.T) {
	spec := walkSpec()
	spec.Decision.Devices = nil
	var all []api.Binding
	for i := range 4 {
		all = append(all, api.Binding{Driver: "san", Address: fmt.Sprint(i), Role: api.RoleStorage, Must: true, Covers: &api.Coverage{CSIDriverNames: []string{"d"}}})
	}
	cutting(&spec.Decision, all...)
	at := stampOf(walkStart)
	st := spec.in(api.NodeFenceStatus{Phase: api.Fencing, FenceNumber: 1, BootIDBefore: "a"})
	for i := range spec.Decision.Devices {
		r := api.RecordOf(&spec.Decision.Devices[i])
		off := api.Read{State: api.PoweredOff, At: at, Identity: strings.Repeat("i", longestMessage)}
		r.FirstCut, r.LastRead = &off, &off
		st.Isolation = append(st.Isolation, r)
	}
	d := CoreOf(&st.Decision, st, Seen{}, walkStart.Add(time.Second))
	d.ProvenByCut()
	if n := len(d.Status().Proof.Reads); n != 8 {
		t.Errorf("%d reads prove it", n)
	}
	for _, w := range tooBig(t, d.Status()) {
		t.Error(w)
	}
}

// TestAVolumeWithALongNameIsNotKept: what is not named in the record is not seen to be out
// of use, and only a reboot shows it (S2).
func TestAVolumeWithALongNameIsNotKept(t *testing.T) {
	for n, only := range map[int]bool{longestVolume: false, longestVolume + 1: true} {
		spec := cutSpec()
		st := spec.in(api.NodeFenceStatus{Phase: api.Releasing, FenceNumber: 1, Proof: &api.Proof{Type: api.ProofStorageCut, BootIDBefore: "a"}})
		d := CoreOf(&st.Decision, st, Seen{Left: &Left{Volumes: []string{"a", strings.Repeat("v", n)}}}, walkStart)
		d.NoteRelease(Release)
		if r := d.Status().Release; r.RebootOnly != only || (len(r.Volumes) == 2) == only {
			t.Errorf("%d letters: only a reboot shows it: %v, %d volumes are kept", n, r.RebootOnly, len(r.Volumes))
		}
		for _, w := range tooBig(t, d.Status()) {
			t.Error(w)
		}
	}
}

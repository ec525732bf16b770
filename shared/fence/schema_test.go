package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAProofByEveryDeviceFits: a node may have four devices that cut it off from storage,
// each of which is seen twice. A proof that its schema does not take could never be saved,
// and the work would stay where it is for ever.
func TestAProofByEveryDeviceFits(t *testing.T) {
	spec := fencetest.Spec()
	spec.Decision.Devices = nil
	var all []api.Binding
	for i := range 4 {
		all = append(all, api.Binding{Driver: "san", Address: fmt.Sprint(i), Role: api.RoleStorage, Must: true, Covers: &api.Coverage{CSIDriverNames: []string{"d"}}})
	}
	fencetest.Cutting(&spec.Decision, all...)
	at := observed.StampOf(fencetest.Start)
	st := spec.In(api.NodeFenceStatus{Phase: api.Fencing, FenceNumber: 1, BootIDBefore: "a"})
	for i := range spec.Decision.Devices {
		r := api.RecordOf(&spec.Decision.Devices[i])
		off := api.Read{State: api.PoweredOff, At: at, Identity: strings.Repeat("i", clip.MessageBytes)}
		r.FirstCut, r.LastRead = &off, &off
		st.Isolation = append(st.Isolation, r)
	}
	d := fence.CoreOf(&st.Decision, st, observed.Look{}, fencetest.Start.Add(time.Second))
	d.ProvenByCut()
	if n := len(d.Status().Proof.Reads); n != 8 {
		t.Errorf("%d reads prove it", n)
	}
	for _, w := range fencetest.TooBig(t, d.Status()) {
		t.Error(w)
	}
}

// TestAVolumeWithALongNameIsNotKept: what is not named in the record is not seen to be out
// of use, and only a reboot shows it (S2).
func TestAVolumeWithALongNameIsNotKept(t *testing.T) {
	for n, only := range map[int]bool{facts.LongestVolume: false, facts.LongestVolume + 1: true} {
		spec := specs.Cut()
		st := spec.In(api.NodeFenceStatus{Phase: api.Releasing, FenceNumber: 1, Proof: &api.Proof{Type: api.ProofStorageCut, BootIDBefore: "a"}})
		d := fence.CoreOf(&st.Decision, st, observed.Look{Left: &observed.Left{Volumes: []string{"a", strings.Repeat("v", n)}}}, fencetest.Start)
		d.NoteRelease(fence.Release)
		if r := d.Status().Release; r.RebootOnly != only || (len(r.Volumes) == 2) == only {
			t.Errorf("%d letters: only a reboot shows it: %v, %d volumes are kept", n, r.RebootOnly, len(r.Volumes))
		}
		for _, w := range fencetest.TooBig(t, d.Status()) {
			t.Error(w)
		}
	}
}

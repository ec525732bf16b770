package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// isolatedFence is in a phase for a second, with one record a device, at a minute
// past the walk's beginning.
func isolatedFence(spec fencetest.Given, phase api.Phase) (*api.NodeFence, time.Time) {
	now := fencetest.Start.Add(time.Minute)
	at := observed.StampOf(now.Add(-time.Second))
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{})}
	f.UID = "fence-1"
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, BootIDBefore: "a",
		Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &at},
	}
	for _, b := range spec.Decision.Isolation() {
		f.Status.Isolation = append(f.Status.Isolation, api.RecordOf(&b))
	}
	return f, now
}

// TestCut is each word with a device that is to be cut off.
func TestCut(t *testing.T) {
	ago := func(now time.Time, d time.Duration) *api.Time { m := observed.StampOf(now.Add(-d)); return &m }
	read := func(now time.Time, power string, d time.Duration) *api.Read {
		return &api.Read{State: api.StateOf(power), At: *ago(now, d)}
	}
	type want struct {
		Phase  api.Phase
		Reason api.Reason
		Action fence.Action
	}
	said := func(power string) *observed.CallResult { return &observed.CallResult{Call: api.CallRead, Power: power} }
	for name, c := range map[string]struct {
		spec   fencetest.Given
		change func(f *api.NodeFence, s *observed.Look, r *api.IsolationRecord, now time.Time)
		// call is what this invocation's call has ended with.
		call *observed.CallResult
		want want
		ours bool
	}{
		"it is read first (S9)": {spec: specs.Fabric(), want: want{api.Isolating, "", fence.Read}},
		"what has access is cut, and that is saved first (S8)": {spec: specs.Fabric(), want: want{api.Isolating, api.AccessCutSent, fence.Off}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.LastRead = read(now, "On", time.Second)
			}},
		"an old read is read again": {spec: specs.Fabric(), want: want{api.Isolating, "", fence.Read},
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.LastRead = read(now, "On", 56*time.Second)
			}},
		"one call an invocation (S7)": {spec: specs.Fabric(), call: said("On"), want: want{api.Isolating, "", fence.None}},
		"seen cut, the power is next": {spec: specs.Fabric(), call: said("Off"), want: want{api.Fencing, api.Isolated, fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.SwitchedByUs, r.OffAt = true, ago(now, time.Second)
			}},
		"cut by somebody else, it is not ours (S12)": {spec: specs.Fabric(), call: said("Off"), want: want{api.Fencing, api.Isolated, fence.None}},
		"not yet seen cut": {spec: specs.Fabric(), call: said("On"), want: want{api.Isolating, "", fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.SwitchedByUs, r.OffAt = true, ago(now, time.Second)
			}},
		"what must be cut is tried again":            {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "unreachable"}, want: want{api.Isolating, api.DeviceFailed, fence.None}},
		"a Secret that does not name its host (S29)": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "no", Why: api.SecretNotForThisHost}, want: want{api.Isolating, api.SecretNotForThisHost, fence.None}},
		"and then the fence fails": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "unreachable"}, want: want{api.Failed, api.IsolationFailed, fence.None},
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, _ time.Time) { r.Tries = 1 }},
		"what we cut is awaited (S25)": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "unreachable"}, want: want{api.Isolating, api.WaitingForDevice, fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.Tries, r.SwitchedByUs, r.OffAt = 1, true, ago(now, time.Minute)
			}},
		"what we cut, and what answers by its place is another": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "another", Wrong: true}, want: want{api.Isolating, api.WaitingForDevice, fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, _ time.Time) { r.SwitchedByUs = true }},
		"what does not obey is given up": {spec: specs.Fabric(), call: said("On"), want: want{api.Failed, api.IsolationFailed, fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.Tries, r.SwitchedByUs, r.OffAt = 1, true, ago(now, time.Minute)
			}},
		"what need not be cut is left": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "unreachable"}, want: want{api.Fencing, api.Isolated, fence.None},
			change: func(f *api.NodeFence, _ *observed.Look, _ *api.IsolationRecord, _ time.Time) {
				f.Status.Decision.Isolation()[0].Must = false
			}},
		"another machine is not tried again (S11)": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "another", Wrong: true}, want: want{api.Failed, api.IsolationFailed, fence.None}},
		"no access that it never knew is unknown (S2)": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "no key", Blind: true},
			want: want{api.Isolating, api.DeviceFailed, fence.None}},
		"no access where we have seen some is a cut": {spec: specs.Fabric(), call: &observed.CallResult{Call: api.CallRead, Err: "no key", Blind: true}, want: want{api.Fencing, api.Isolated, fence.None}, ours: true,
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.SwitchedByUs, r.OffAt = true, ago(now, time.Second)
			}},
		"a person's word needs no cut": {spec: specs.Fabric(), want: want{api.Fencing, api.Isolated, fence.None},
			change: func(f *api.NodeFence, _ *observed.Look, _ *api.IsolationRecord, _ time.Time) {
				f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "me"}}
			}},
		"a pause stops the next cut (S25)": {spec: specs.Fabric(), want: want{api.Pending, api.Paused, fence.None},
			change: func(_ *api.NodeFence, s *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.LastRead, s.Brakes.Paused = read(now, "On", time.Second), true
			}},
		"a node that heals is given back what was cut (S17)": {spec: specs.Fabric(), want: want{api.Restoring, api.HealedBeforeFence, fence.None}, ours: true,
			change: func(_ *api.NodeFence, s *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.SwitchedByUs, r.SeenCutAt = true, ago(now, time.Second)
				s.Node.Conditions[0].Status = "True"
			}},
		"one read of a cut is no proof (S1)": {spec: specs.Cut(), call: said("Off"), want: want{api.Isolating, api.SeenCutOff, fence.None}},
		"two reads a settle apart are": {spec: specs.Cut(), call: said("Off"), want: want{api.Releasing, api.SeenCutOff, fence.None},
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.FirstCut = read(now, "Off", 2*time.Second)
			}},
		"two reads of which one is old are not": {spec: specs.Cut(), want: want{api.Isolating, "", fence.Read},
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.FirstCut, r.LastRead = read(now, "Off", 40*time.Second), read(now, "Off", 31*time.Second)
			}},
		"a doubt between two reads undoes the first (S2)": {spec: specs.Cut(), call: &observed.CallResult{Call: api.CallRead, Err: "unreachable"}, want: want{api.Isolating, api.DeviceFailed, fence.None},
			change: func(_ *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.FirstCut = read(now, "Off", 2*time.Second)
			}},
		"a reboot begins the reads anew (S3)": {spec: specs.Cut(), call: said("Off"), want: want{api.Isolating, api.SeenCutOff, fence.None},
			change: func(f *api.NodeFence, _ *observed.Look, r *api.IsolationRecord, now time.Time) {
				r.FirstCut, f.Status.BootIDBefore = read(now, "Off", 2*time.Second), "before"
			}},
		"a reboot ends a release (S4)": {spec: specs.Cut(), want: want{api.Recovering, api.SignOfLife, fence.None},
			change: func(f *api.NodeFence, _ *observed.Look, _ *api.IsolationRecord, now time.Time) {
				f.Status.Release = api.ReleaseRecord{StartedAt: ago(now, time.Second), By: api.ProofStorageCut, BootID: "before"}
			}},
		"others' cut that others undo ends a release (S12)": {spec: specs.Cut(), call: said("On"), want: want{api.Recovering, api.SignOfLife, fence.None},
			change: func(f *api.NodeFence, _ *observed.Look, _ *api.IsolationRecord, now time.Time) {
				f.Status.Release = api.ReleaseRecord{StartedAt: ago(now, time.Second), By: api.ProofStorageCut, BootID: "a"}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(c.spec, api.Isolating)
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			if c.call != nil {
				call := *c.call
				call.At = now
				f.Status.Claim = &api.Claim{Holder: "me", Call: api.CallRead, At: observed.StampOf(now), NotAfter: observed.StampOf(now.Add(time.Second)), Device: f.Status.Decision.Isolation()[0].Name}
				seen.Call = &call
			}
			if c.change != nil {
				c.change(f, &seen, &f.Status.Isolation[0], now)
			}
			st, act := fence.Decide(f, seen, now)
			if d := cmp.Diff(c.want, want{st.Phase, st.Reason, act}); d != "" {
				t.Errorf("%s (%s)", d, st.Message)
			}
			if st.Isolation[0].SwitchedByUs != c.ours {
				t.Errorf("ours: %v", st.Isolation[0].SwitchedByUs)
			}
			if act.Device() && (st.Claim == nil || st.Claim.Device != f.Status.Decision.Isolation()[0].Name || facts.Claimed(&api.NodeFence{Spec: f.Spec, Status: st}).Driver != f.Status.Decision.Isolation()[0].Driver) {
				t.Errorf("claimed: %+v", st.Claim)
			}
		})
	}
}

// TestWithheld: access is not given back to a machine on which what was released may
// still write.
func TestWithheld(t *testing.T) {
	type look struct {
		boot, ready string
		moved       bool
		inUse       []string
		gone        bool
	}
	by := func(kind api.ProofKind) api.ReleaseRecord {
		return api.ReleaseRecord{By: kind, BootID: "a", Volumes: []string{"v"}}
	}
	hidden := by(api.ProofStorageCut)
	hidden.RebootOnly = true
	for name, c := range map[string]struct {
		release api.ReleaseRecord
		role    api.Role
		look    look
		gives   bool
	}{
		"nothing was released":                        {api.ReleaseRecord{}, api.RoleStorage, look{boot: "a", ready: "Unknown"}, true},
		"seen off, and not heard of":                  {by(api.ProofSeenOff), api.RoleStorage, look{boot: "a", ready: "Unknown"}, true},
		"seen off, and its Lease moves":               {by(api.ProofSeenOff), api.RoleStorage, look{boot: "a", ready: "Unknown", moved: true}, false},
		"seen off, and rebooted":                      {by(api.ProofSeenOff), api.RoleStorage, look{boot: "b", ready: "True", moved: true}, true},
		"a person's word, and its Lease moves":        {by(api.ProofConfirmed), api.RoleNetwork, look{boot: "a", ready: "True", moved: true}, false},
		"storage cut, and not heard of":               {by(api.ProofStorageCut), api.RoleStorage, look{boot: "a", ready: "Unknown"}, false},
		"storage cut, and rebooted":                   {by(api.ProofStorageCut), api.RoleStorage, look{boot: "b", ready: "Unknown"}, true},
		"storage cut, Ready, and still mounted":       {by(api.ProofStorageCut), api.RoleStorage, look{boot: "a", ready: "True", moved: true, inUse: []string{"v"}}, false},
		"storage cut, Ready, and nothing mounted":     {by(api.ProofStorageCut), api.RoleStorage, look{boot: "a", ready: "True", moved: true}, true},
		"storage cut, Ready, and another's mounted":   {by(api.ProofStorageCut), api.RoleStorage, look{boot: "a", ready: "True", moved: true, inUse: []string{"w"}}, true},
		"storage cut, Ready by yesterday's word":      {by(api.ProofStorageCut), api.RoleStorage, look{boot: "a", ready: "True"}, false},
		"storage cut that volumesInUse does not show": {hidden, api.RoleStorage, look{boot: "a", ready: "True", moved: true}, false},
		"storage cut, and no Node":                    {by(api.ProofStorageCut), api.RoleStorage, look{gone: true}, false},
		"network, while storage stays cut":            {by(api.ProofStorageCut), api.RoleNetwork, look{boot: "a", ready: "Unknown"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specs.Cut()
			cut := spec.Decision.Isolation()[0]
			cut.Role = c.role
			fencetest.Cutting(&spec.Decision, cut)
			f, now := isolatedFence(spec, api.Restoring)
			at := observed.StampOf(now.Add(-30 * time.Second))
			f.Status.Release = c.release
			if c.release.By != "" {
				f.Status.Release.StartedAt = &at
			}
			f.Status.Lease.StillSince = &at
			f.Status.Isolation[0].SwitchedByUs = true
			f.Status.Isolation[0].LastRead = &api.Read{State: api.PoweredOff, At: observed.StampOf(now.Add(-time.Second))}
			seen := fencetest.Look(f, now, c.look.ready, c.look.moved, c.look.boot)
			seen.Node.VolumesInUse, seen.Node.Exists = c.look.inUse, !c.look.gone
			seen.Brakes = observed.Brakes{} // no brake stops this (S27)
			st, act := fence.Decide(f, seen, now)
			if gives := act == fence.On && st.Reason == api.AccessRestoreSent; gives != c.gives || !gives && (st.Reason != api.WaitingForReboot || act != fence.None) {
				t.Errorf("%s, action %q: %s", st.Reason, act, st.Message)
			}
		})
	}
}

// TestGivenBackInReverse: the last that was cut is given back first; one that fails
// does not keep the others, and is tried again.
func TestGivenBackInReverse(t *testing.T) {
	spec := specs.Fabric()
	fencetest.Cutting(&spec.Decision, append(spec.Decision.Isolation(), api.Binding{Driver: "switch", Address: "8", Role: api.RoleNetwork})...)
	f, now := isolatedFence(spec, api.Restoring)
	for i := range f.Status.Isolation {
		f.Status.Isolation[i].SwitchedByUs = true
	}
	f.Status.Restore = &api.RestoreRecord{Then: api.Fenced, Reason: api.StaysOff, Message: "it stays off"}
	seen := fencetest.Look(f, now, "Unknown", false, "a")
	decide := func(power string) (device string, act fence.Action) {
		if seen.Call = nil; power != "" {
			seen.Call = &observed.CallResult{Call: f.Status.Claim.Call, Power: power, At: now}
			if power == "dead" {
				seen.Call.Power, seen.Call.Err = "", "unreachable"
			}
		}
		f.Status, act = fence.Decide(f, seen, now)
		if f.Status.Claim != nil {
			device = f.Status.Claim.Device
		}
		return device, act
	}
	for i, c := range []struct {
		said   string
		device string
		act    fence.Action
	}{
		{"", "network-2", fence.Read}, {"dead", "", fence.None}, // its turn comes again
		{"", "network-1", fence.Read}, {"Off", "", fence.None}, {"", "network-1", fence.On}, {"done", "", fence.None}, {"", "network-1", fence.Read}, {"On", "", fence.None},
	} {
		if c.said == "dead" || c.said != "" && c.said != "done" {
			now = now.Add(time.Millisecond)
		}
		if c.said == "" {
			now = now.Add(100 * time.Millisecond)
		}
		if device, act := decide(c.said); device != c.device || act != c.act {
			t.Fatalf("step %d: device %s, action %q, %s: %s", i, device, act, f.Status.Reason, f.Status.Message)
		}
	}
	if st := f.Status; st.Phase != api.Restoring || !facts.Owed(st.Isolation[1]) || facts.Owed(st.Isolation[0]) {
		t.Fatalf("%s: %+v", st.Phase, st.Isolation)
	}
	now = f.Status.NextLook.Time
	for _, said := range []string{"", "On"} {
		decide(said)
		now = now.Add(time.Millisecond)
	}
	if st := f.Status; st.Phase != api.Fenced || st.Reason != api.StaysOff || st.Restore != nil {
		t.Errorf("%s %s: %s", st.Phase, st.Reason, st.Message)
	}
}

// TestWhatIsCutInPartIsGivenBack: an Off that stopped halfway leaves a machine a part of its access. The device is
// told to give the rest back, and is owed that until all of it reads as there (S22, S25).
func TestWhatIsCutInPartIsGivenBack(t *testing.T) {
	f, now := isolatedFence(specs.Fabric(), api.Restoring)
	f.Status.Isolation[0].SwitchedByUs = true
	f.Status.Restore = &api.RestoreRecord{Then: api.Fenced, Reason: api.StaysOff, Message: "it stays off"}
	part := observed.CallResult{Call: api.CallRead, Power: "On", MissingSupply: "1 of its 2 network interfaces is isolated"}
	for i, c := range []struct {
		act  fence.Action
		ends observed.CallResult
	}{
		{fence.Read, part}, {fence.On, observed.CallResult{Call: api.CallOn, Err: "throttled"}}, {fence.Read, part},
		{fence.Read, observed.CallResult{Call: api.CallRead, Power: "On"}},
	} {
		if f.Status.Phase != api.Restoring || !facts.Owed(f.Status.Isolation[0]) {
			t.Fatalf("step %d: %s: %+v", i, f.Status.Phase, f.Status.Isolation)
		}
		if n := f.Status.NextLook; n != nil && n.After(now) {
			now = n.Time
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		st, act := fence.Decide(f, seen, now)
		if f.Status = st; act != c.act {
			t.Fatalf("step %d: %q, want %q (%s: %s)", i, act, c.act, st.Reason, st.Message)
		}
		c.ends.At, seen.Call = now, &c.ends
		f.Status, _ = fence.Decide(f, seen, now)
	}
	if st := f.Status; st.Phase != api.Fenced || facts.Owed(st.Isolation[0]) {
		t.Errorf("%s %s: %s", st.Phase, st.Reason, st.Message)
	}
}

// TestEndedWithADeadDevice: what can't be given back is left, and said (S27).
func TestEndedWithADeadDevice(t *testing.T) {
	f, now := isolatedFence(specs.Fabric(), api.Restoring)
	f.Status.Isolation[0].SwitchedByUs = true
	f.Status.Claim = &api.Claim{Holder: "me", Call: api.CallRead, At: observed.StampOf(now), NotAfter: observed.StampOf(now), Device: f.Status.Decision.Isolation()[0].Name}
	seen := fencetest.Look(f, now, "Unknown", false, "a")
	seen.Deleting, seen.Call = true, &observed.CallResult{Call: api.CallRead, Err: "unreachable", At: now}
	st, _ := fence.Decide(f, seen, now)
	if r := st.Isolation[0]; st.Phase != api.Recovering || st.Outcome != api.Aborted || !r.Abandoned || !r.SwitchedByUs {
		t.Errorf("%s %s: %+v", st.Phase, st.Outcome, r)
	}
	told := false
	for _, h := range st.History {
		told = told || h.Reason == api.LeftCutOff
	}
	if !told {
		t.Error("nobody is told")
	}
}

// TestALostCutIsReadFirst: its holder died; the record alone says what to undo.
func TestALostCutIsReadFirst(t *testing.T) {
	f, now := isolatedFence(specs.Fabric(), api.Isolating)
	at := observed.StampOf(now)
	r := &f.Status.Isolation[0]
	r.SwitchedByUs, r.OffAt, r.LastRead = true, &at, &api.Read{State: api.PoweredOn, At: at}
	f.Status.Claim = &api.Claim{Holder: "dead", Call: api.CallOff, At: at, NotAfter: at, Device: f.Status.Decision.Isolation()[0].Name}
	seen := fencetest.Look(f, now, "Unknown", false, "a")
	if _, act := fence.Decide(f, seen, now.Add(4*time.Second)); act != fence.None {
		t.Fatalf("its effect may still come: %q", act)
	}
	st, act := fence.Decide(f, seen, now.Add(6*time.Second))
	if act != fence.Read || !st.Isolation[0].SwitchedByUs || st.Isolation[0].Tries != 1 {
		t.Errorf("action %q, %+v", act, st.Isolation[0])
	}
}

// TestACutIsKeptWhereItsNodeWasDeleted before anything was released, unless the machine
// was off since: Kubernetes begins its pods elsewhere (S1).
func TestACutIsKeptWhereItsNodeWasDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFenceStatus, api.Time)
		back   bool
	}{
		"it runs":                           {func(*api.NodeFenceStatus, api.Time) {}, false},
		"a supply of it was asked for anew": {func(st *api.NodeFenceStatus, at api.Time) { st.Power.OnAt = &at }, false},
		"it reads off": {func(st *api.NodeFenceStatus, at api.Time) {
			st.Power.LastRead = &api.Read{State: api.PoweredOff, At: at}
		}, true},
		"it was proven off, and its work went": {func(st *api.NodeFenceStatus, at api.Time) { st.Release.DoneAt = &at }, true},
	} {
		f, now := isolatedFence(specs.Fabric(), api.Restoring)
		f.Status.Isolation[0].SwitchedByUs = true
		c.change(&f.Status, observed.StampOf(now))
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		seen.Node.Exists = false
		st, act := fence.Decide(f, seen, now.Add(time.Minute))
		if back := act == fence.Read && st.Reason != api.WaitingForReboot; back != c.back {
			t.Errorf("%s: %q, %s: %s", name, act, st.Reason, st.Message)
		}
	}
}

// TestACutReleasesPodByPod, and a person's word like any other fence.
func TestACutReleasesPodByPod(t *testing.T) {
	f, now := isolatedFence(specs.Cut(), api.Releasing)
	at := observed.StampOf(now)
	f.Status.Proof = &api.Proof{Type: api.ProofStorageCut, At: at, BootIDBefore: "a"}
	f.Status.Isolation[0].SwitchedByUs = true
	seen := fencetest.Look(f, now, "Unknown", true, "a")
	seen.Left = &observed.Left{Delete: []observed.Pod{{Namespace: "default", Name: "db-0"}}, Volumes: []string{"v"}, Stay: []string{"default/cache-0"}}
	st, act := fence.Decide(f, seen, now)
	got := api.ReleaseRecord{By: st.Release.By, BootID: st.Release.BootID, Volumes: st.Release.Volumes, KeptPods: st.Release.KeptPods}
	want := api.ReleaseRecord{By: api.ProofStorageCut, BootID: "a", Volumes: []string{"v"}, KeptPods: "1 pods stay, as not all of their writable volumes are cut off: default/cache-0"}
	if d := cmp.Diff(want, got); d != "" || act != fence.Release || st.Placed.OutOfService || facts.Covered(f) == nil {
		t.Errorf("action %q, %s%s", act, st.Message, d)
	}
	f.Status.Proof.Type = api.ProofConfirmed
	if facts.Covered(f) != nil || !facts.ReleaseOf(f).Taints() {
		t.Error("held to the storage that is cut, though a person says that the machine is off")
	}
}

// TestAVolumeThatNeverShowsWantsAReboot: what volumesInUse never shows is not seen to be out
// of use, so only a reboot shows that nothing writes there any more (S2).
func TestAVolumeThatNeverShowsWantsAReboot(t *testing.T) {
	for hidden, only := range map[bool]bool{false: false, true: true} {
		st := specs.Cut().In(api.NodeFenceStatus{Phase: api.Releasing, FenceNumber: 1, Proof: &api.Proof{Type: api.ProofStorageCut, BootIDBefore: "a"}})
		d := fence.CoreOf(&st.Decision, st, observed.Look{Left: &observed.Left{Volumes: []string{"a"}, Hidden: hidden}}, fencetest.Start)
		if d.NoteRelease(fence.Release); d.Status().Release.RebootOnly != only {
			t.Errorf("hidden %v: only a reboot shows it: %v", hidden, !only)
		}
	}
}

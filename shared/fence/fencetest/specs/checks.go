package specs

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Activity is of a fence whose policy has activity checks: the second
// failed round of two decides.
func Activity() fencetest.Given {
	s := fencetest.Spec()
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	s.Decision.Settings.ActivityChecks = &api.ActivitySettings{
		Checks: []api.CheckSettings{{Type: api.CheckKubelet}},
		Rounds: 2, FailedRounds: 2, Interval: d(9), CheckTimeout: d(5), RecheckInterval: d(60), AliveTimeout: d(100), OnAliveTimeout: api.AliveFence,
	}
	return s
}

// Storage is of a fence whose policy asks for the storage first.
func Storage() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Settings.StorageCheck = &api.StorageSettings{Type: api.StorageTCP, TCP: &api.TCPCheck{Address: "storage:2049"}, Timeout: metav1.Duration{Duration: 5 * time.Second}, ValidDuration: metav1.Duration{Duration: 30 * time.Second}}
	return s
}

// Kdump is of a fence that waits for the machine's dump.
func Kdump() fencetest.Given {
	s := fencetest.Spec()
	d := func(s time.Duration) metav1.Duration { return metav1.Duration{Duration: s * time.Second} }
	s.Decision.Settings.Kdump = &api.KdumpSettings{FirstMessageTimeout: d(5), QuietDuration: d(9), Timeout: d(40)}
	return s
}

// Dumping is a fence that releases two pods for a dump right now, what is seen of it, and the time.
func Dumping() (*api.NodeFence, observed.Look, time.Time) {
	now := fencetest.Start.Add(time.Minute)
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	f := &api.NodeFence{Spec: DumpProof().AsSpec(), Status: DumpProof().In(api.NodeFenceStatus{})}
	f.UID = "fence-1"
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Releasing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: ago(time.Minute), PhaseSince: ago(time.Second), DecidedAt: ago(time.Second),
		Placed: api.Placed{Taint: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: ago(5 * time.Minute)},
		Kdump: &api.KdumpRecord{Since: *ago(20 * time.Second), FirstSeen: *ago(20 * time.Second), LastSeen: *ago(time.Second), Count: 2, BootID: "a"},
		Proof: &api.Proof{Type: api.ProofKdump, BootIDBefore: "a", At: *ago(time.Second)},
	}
	seen := fencetest.Look(f, now, "Unknown", false, "a")
	seen.Dump = &observed.Dump{NodeUID: "uid-1", BootID: "a", First: now.Add(-20 * time.Second), Last: now.Add(-time.Second), Source: "10.0.0.7", Count: 3}
	seen.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}, {Name: "q"}}, Attachments: 2, Detach: []observed.Attachment{{Name: "v"}}}
	return f, seen, now
}

// DumpProof is of such a fence whose policy takes a dump for a proof.
func DumpProof() fencetest.Given {
	s := Kdump()
	r := *s.Decision.Settings.Kdump
	r.ReleasePodsWhileDumping, r.FirstMessageTimeout.Duration, r.Timeout.Duration = true, 0, 100*time.Second
	s.Decision.Settings.Kdump = &r
	return s
}

// Device is of a fence whose policy asks a kubelet's port and the machine's device.
func Device() fencetest.Given {
	s := Activity()
	p := *s.Decision.Settings.ActivityChecks
	p.Checks = append(p.Checks[:1:1], api.CheckSettings{Type: api.CheckDevice})
	s.Decision.Settings.ActivityChecks = &p
	return s
}

// DeviceAlone is of one whose policy asks the device alone.
func DeviceAlone() fencetest.Given {
	s := Device()
	s.Decision.Settings.ActivityChecks.Checks = s.Decision.Settings.ActivityChecks.Checks[1:]
	return s
}

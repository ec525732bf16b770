package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func dumper(uid, boot string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-7", UID: types.UID(uid)}}
	n.Status.NodeInfo.BootID = boot
	return n
}

func TestWhatIsWrittenOfADump(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := dumpLease(nil, dumper("u", "b"), "10.0.0.7", at)
	for name, tc := range map[string]struct {
		was  *coordinationv1.Lease
		node *corev1.Node
		now  time.Time
		want Dump
	}{
		"the first message":         {nil, dumper("u", "b"), at, Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 1}},
		"another one":               {first, dumper("u", "b"), at.Add(time.Minute), Dump{NodeUID: "u", BootID: "b", First: at, Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 2}},
		"one that came before it":   {first, dumper("u", "b"), at.Add(-time.Second), Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 2}},
		"one after a long silence":  {first, dumper("u", "b"), at.Add(time.Hour), Dump{NodeUID: "u", BootID: "b", First: at.Add(time.Hour), Last: at.Add(time.Hour), Source: "10.0.0.8", Count: 1}},
		"one of a later boot":       {first, dumper("u", "c"), at.Add(time.Minute), Dump{NodeUID: "u", BootID: "c", First: at.Add(time.Minute), Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 1}},
		"one of a new Node":         {first, dumper("v", "b"), at.Add(time.Minute), Dump{NodeUID: "v", BootID: "b", First: at.Add(time.Minute), Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 1}},
		"after somebody emptied it": {&coordinationv1.Lease{}, dumper("u", "b"), at, Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l := dumpLease(tc.was, tc.node, "10.0.0.8", tc.now)
			if d := cmp.Diff(&tc.want, dumpOf(l)); d != "" {
				t.Error(d)
			}
			if o := l.OwnerReferences; len(o) != 1 || o[0].UID != tc.node.UID {
				t.Error("it goes with the Node:", o)
			}
		})
	}
}

func TestADumpIsWrittenAgainstOthers(t *testing.T) {
	f := newFakeAPI(t)
	if _, err := f.RecordDump(t.Context(), dumper("u", "b"), "10.0.0.7", Elapsed()); err != nil {
		t.Fatal(err)
	}
	// Another replica writes in between: neither message is lost.
	f.before = func(f *fakeAPI) {
		f.before = nil
		if _, err := f.RecordDump(t.Context(), dumper("u", "b"), "10.0.0.7", Elapsed()); err != nil {
			t.Error(err)
		}
	}
	d, err := f.RecordDump(t.Context(), dumper("u", "b"), "10.0.0.7", Elapsed())
	if err != nil || d.Count != 3 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestAMessageIsAsOldAsItIs: a message that waited to be recorded is no younger for that.
func TestAMessageIsAsOldAsItIs(t *testing.T) {
	f := newFakeAPI(t)
	d, err := f.RecordDump(t.Context(), dumper("u", "b"), "10.0.0.7", Elapsed()-time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if age := f.clock.Now().Sub(d.Last); age < time.Hour {
		t.Errorf("it came an hour ago, and counts as %s old", age)
	}
}

// TestABootIDOfAnyLength: a kubelet may report a boot ID of any length. All of it tells one boot
// from another, in no more letters than a record takes, and in a dump's Lease as on the Node
// (S3).
func TestABootIDOfAnyLength(t *testing.T) {
	const linux = "0b3f2f46-1b0f-4d0c-9a3e-4f0c7a0c6f11"
	long := strings.Repeat("b", 1<<20)
	for said, want := range map[string]int{"": 0, linux: 36, long: 71, long + "'": 71} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
		n.Status.NodeInfo.BootID = said
		got := BootID(n.Status.NodeInfo.BootID)
		dump := dumpOf(dumpLease(nil, n, "192.0.2.7", time.Now()))
		if len(got) != want || dump.BootID != got || said != long && got == BootID(long) {
			t.Errorf("of %d letters: %.80q, of its dump %.80q", len(said), got, dump.BootID)
		}
		asSaid := dumpLease(nil, n, "192.0.2.7", time.Now())
		asSaid.Annotations[bootIDKey] = said // anybody who may write such Leases can do that
		if d := dumpOf(asSaid); len(d.BootID) != want {
			t.Errorf("of %d letters in a Lease: %.80q", len(said), d.BootID)
		}
		again := dumpLease(dumpLease(nil, n, "192.0.2.7", time.Now()), n, "192.0.2.7", time.Now())
		if d := dumpOf(again); d.Count != 2 {
			t.Errorf("a second message of one boot begins another dump: %+v", d)
		}
	}
}

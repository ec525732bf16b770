package kube

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
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
		want fence.Dump
	}{
		"the first message":         {nil, dumper("u", "b"), at, fence.Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 1}},
		"another one":               {first, dumper("u", "b"), at.Add(time.Minute), fence.Dump{NodeUID: "u", BootID: "b", First: at, Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 2}},
		"one that came before it":   {first, dumper("u", "b"), at.Add(-time.Second), fence.Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 2}},
		"one after a long silence":  {first, dumper("u", "b"), at.Add(time.Hour), fence.Dump{NodeUID: "u", BootID: "b", First: at.Add(time.Hour), Last: at.Add(time.Hour), Source: "10.0.0.8", Count: 1}},
		"one of a later boot":       {first, dumper("u", "c"), at.Add(time.Minute), fence.Dump{NodeUID: "u", BootID: "c", First: at.Add(time.Minute), Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 1}},
		"one of a new Node":         {first, dumper("v", "b"), at.Add(time.Minute), fence.Dump{NodeUID: "v", BootID: "b", First: at.Add(time.Minute), Last: at.Add(time.Minute), Source: "10.0.0.8", Count: 1}},
		"after somebody emptied it": {&coordinationv1.Lease{}, dumper("u", "b"), at, fence.Dump{NodeUID: "u", BootID: "b", First: at, Last: at, Source: "10.0.0.8", Count: 1}},
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
	// Another replica writes in between: none of the two is lost.
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

// TestAMessageIsAsOldAsItIs: that it waited to be written down makes it no younger.
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

func TestADumpIsLookedForWhereItIsWaitedFor(t *testing.T) {
	rule := &api.KdumpSettings{}
	for name, tc := range map[string]struct {
		dec    api.Decision
		status api.NodeFenceStatus
		answer int
		want   bool
	}{
		"by the policy":             {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, want: true},
		"by the node's ConfigMap":   {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionOff}}, Devices: api.Named(api.Binding{Kdump: true})}, want: true},
		"nobody asked":              {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot}}, Devices: api.Named(api.Binding{})}},
		"no power is cut":           {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionIsolate, Kdump: rule}}}},
		"the power is cut":          {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, status: api.NodeFenceStatus{Power: api.PowerRecord{SwitchedByUs: true}}},
		"no right to look: not set": {dec: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Kdump: rule}}}, answer: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			if _, err := f.RecordDump(t.Context(), dumper("u", "b"), "10.0.0.7", Elapsed()); err != nil {
				t.Fatal(err)
			}
			if tc.answer != 0 {
				f.answer[dumpsPath+"/node-7"] = func(w http.ResponseWriter, _ request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(tc.answer)
					_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
				}
			}
			tc.status.Decision = tc.dec
			var seen fence.Seen
			if err := f.LookDump(t.Context(), &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "node-7"}, Status: tc.status}, &seen); err != nil {
				t.Fatal(err)
			}
			if (seen.Dump != nil) != tc.want {
				t.Errorf("seen %+v", seen.Dump)
			}
		})
	}
}

package networkfence_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/clustertest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "networkfence", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against: "networkfence",
		Secrets: []string{token},
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t)
			s.setFault(t, fault)
			url := s.url
			if fault == devicetest.Unreachable {
				url = "http://" + port.Nobody(t)
			}
			return devicetest.Machine{
				Driver:   dial(t, url),
				On:       s.on,
				Commands: s.told,
				SetFault: func(fault string) { s.setFault(t, fault) },
				Settle:   s.settle,
			}
		},
	}
}

const (
	fencingDone   = `{"result": "Succeeded", "message": "fencing operation successful"}`
	unfencingDone = `{"result": "Succeeded", "message": "unfencing operation successful"}`
	named         = "NetworkFence nodefence-10-0-0-7-05d9e8e1: "
	refused       = "device refused in its present state: " + named
	stopping      = "machine is on its way off: " + named
)

// TestStates: what an object as it stands reads as, and what Off and On write.
func TestStates(t *testing.T) {
	deleted := `"generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z"`
	lost := refused + "it was deleted while Fenced, and csi-addons does not unfence on deletion: see that the storage lets the machine in again"
	changed := "NetworkFence nodefence-10-0-0-7-05d9e8e1 was changed after it was made, and what its status says may be about an earlier wish"
	notYet := refused + `it is Unfenced, and csi-addons has not said yet that it is done ("unfencing operation successful")`
	leaving := refused + "one of an earlier fence is being deleted; when csi-addons has taken its finalizer off, a new one is made"
	foreign := refused + "it is somebody else's: it has no label app.kubernetes.io/managed-by=nodefence"
	other := refused + "it was changed: it is not about networkfence:rbd.csi.example/rook#10.0.0.7/32 any more"
	type result struct {
		Power          device.Power
		InPart         string
		State, Off, On string
		OffSent        []string
		OnSent         []string
	}
	for name, tc := range map[string]struct {
		object string
		want   result
	}{
		"none":                               {"", result{Power: device.On, OffSent: []string{"POST"}}},
		"fenced":                             {ours(`"generation": 1`, "Fenced", fencingDone), result{Power: device.Off, OnSent: []string{"PUT"}}},
		"not carried out yet":                {ours(`"generation": 1`, "Fenced", `{}`), result{State: stopping + "it is Fenced, and csi-addons has not carried it out yet", OnSent: []string{"PUT"}}},
		"failed":                             {ours(`"generation": 1`, "Fenced", `{"result": "Failed", "message": "rpc error:\n no leader"}`), result{State: refused + "the storage failed to carry out Fenced: rpc error: no leader", On: refused + "the storage failed to carry out Unfenced: rpc error: no leader", OnSent: []string{"PUT"}}},
		"fenced again by another hand":       {ours(`"generation": 3`, "Fenced", fencingDone), result{Power: device.On, InPart: changed, Off: leaving, OffSent: []string{"DELETE"}, OnSent: []string{"PUT"}}},
		"deleted while fenced":               {ours(deleted, "Fenced", fencingDone), result{State: lost, Off: lost, On: lost}},
		"unfenced":                           {ours(`"generation": 2`, "Unfenced", unfencingDone), result{Power: device.On, Off: leaving, OffSent: []string{"DELETE"}, OnSent: []string{"DELETE"}}},
		"an old result of another wish (S2)": {ours(`"generation": 2`, "Unfenced", fencingDone), result{State: notYet, Off: leaving, OffSent: []string{"DELETE"}}},
		"somebody else's": {`{"metadata": {"labels": {"app.kubernetes.io/managed-by": "rook"}}, "spec": {"fenceState": "Fenced"}, "status": ` + fencingDone + `}`,
			result{State: foreign, Off: foreign, On: foreign}},
		"about another machine (S11)": {`{"metadata": {"labels": {"app.kubernetes.io/managed-by": "nodefence"}}, "spec": {"driver": "rbd.csi.example", "fenceState": "Fenced", "cidrs": ["10.0.0.8/32"]}, "status": ` + fencingDone + `}`,
			result{State: other, Off: other, On: other}},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(do func(device.Driver) error) (string, []string) {
				s := serve(t)
				s.Changed = nil // the controller is not there
				if tc.object != "" {
					s.Put(t, path, tc.object)
				}
				err := do(dial(t, s.url))
				var sent []string
				for _, w := range s.Writes() {
					sent = append(sent, w.Method)
				}
				return devicetest.Words(err), sent
			}
			var got result
			var r device.Reading
			got.State, _ = in(func(d device.Driver) (err error) { r, err = d.State(t.Context()); return err })
			got.Power, got.InPart = r.Power, r.MissingSupply
			got.Off, got.OffSent = in(func(d device.Driver) error { return d.Off(t.Context()) })
			got.On, got.OnSent = in(func(d device.Driver) error { return d.On(t.Context()) })
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDocument is what is written, whole.
func TestDocument(t *testing.T) {
	s := serve(t)
	if err := dial(t, s.url).Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []clustertest.Write{{Method: "POST", Path: list, Doc: clustertest.Doc{
		"apiVersion": "csiaddons.openshift.io/v1alpha1", "kind": "NetworkFence",
		"metadata": clustertest.Doc{"name": "nodefence-10-0-0-7-05d9e8e1", "labels": clustertest.Doc{"app.kubernetes.io/managed-by": "nodefence"}},
		"spec": clustertest.Doc{
			"driver": "rbd.csi.example", "fenceState": "Fenced", "cidrs": []any{"10.0.0.7/32"},
			"secret": clustertest.Doc{"name": "csi", "namespace": "rook"}, "parameters": clustertest.Doc{"clusterID": "rook"},
		},
	}}}
	got := s.Writes()
	for i := range got { // what the API server adds
		for _, f := range []string{"uid", "generation", "resourceVersion"} {
			delete(clustertest.Meta(got[i].Doc), f)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOnLeavesNothing: the object goes when the storage has let the machine in,
// and what others wrote in it stays until then (S22).
func TestOnLeavesNothing(t *testing.T) {
	s := serve(t)
	s.Put(t, path, ours(`"generation": 1, "annotations": {"of": "somebody"}`, "Fenced", fencingDone))
	if err := dial(t, s.url).On(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := s.Object(path); o != nil {
		t.Errorf("it is left: %v", o)
	}
	all := s.Writes()
	if len(all) != 2 || all[0].Method != "PUT" || all[1].Method != "DELETE" {
		t.Fatalf("%v", all)
	}
	if d := cmp.Diff(clustertest.Doc{"of": "somebody"}, clustertest.Meta(all[0].Doc)["annotations"]); d != "" {
		t.Error(d)
	}
}

// TestOnWaits for the storage within the caller's time: the object is not taken
// away before, which would leave the machine cut off for good.
func TestOnWaits(t *testing.T) {
	s := serve(t)
	s.Put(t, path, ours(`"generation": 1`, "Fenced", fencingDone))
	s.Changed = nil
	looks := make(chan struct{}, 100)
	s.asked = func(method string) {
		if method == http.MethodGet {
			looks <- struct{}{}
		}
	}
	d := dial(t, s.url)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		done <- d.On(ctx)
	}()
	for range 3 { // before it writes, after it, and again
		select {
		case <-looks:
		case err := <-done:
			t.Fatal("it has not waited:", err)
		}
	}
	s.carryOut(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.carryOut(true)
	if o := s.Object(path); o != nil {
		t.Errorf("left is %v", o)
	}
}

// TestNotServed: a cluster without csi-addons cuts nothing off. The driver says so, and
// does not read it as a cluster in which nothing is cut off.
func TestNotServed(t *testing.T) { // S2
	s := serve(t)
	s.Kinds = nil
	d := dial(t, s.url)
	r, err := d.State(t.Context())
	if r != (device.Reading{}) {
		t.Errorf("it reads %+v", r)
	}
	want := "read " + named[:len(named)-2] + ": device does not support this: the cluster does not serve " + path + ": the CRD of csi-addons is not installed, or not as v1alpha1"
	for call, got := range map[string]error{"state": err, "off": d.Off(t.Context()), "on": d.On(t.Context())} {
		if !errors.Is(got, device.ErrNotServed) || got.Error() != want {
			t.Errorf("%s: %v\nwant %s", call, got, want)
		}
	}
}

// TestNotServedAnyMore: the kind goes between the look and the write.
func TestNotServedAnyMore(t *testing.T) { // S2
	s := serve(t)
	s.asked = func(method string) {
		if method != http.MethodGet {
			s.Kinds = nil
		}
	}
	if err := dial(t, s.url).Off(t.Context()); !errors.Is(err, device.ErrNotServed) {
		t.Error(err)
	}
}

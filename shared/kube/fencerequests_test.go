package kube

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAFenceRequestOfTomorrowStays: of a FenceRequest only the finalizer and the fields of the
// status that are known are written, each compared with what was read.
func TestAFenceRequestOfTomorrowStays(t *testing.T) {
	f := newFakeAPI(t)
	path := fenceRequestsPath("n") + "/a"
	f.set(path, `{"metadata":{"name":"a","namespace":"n","uid":"u","finalizers":["theirs"]},"spec":{"novel":1},"status":{"novel":1,"nodeFence":{"name":"a","fenceNumber":1}}}`)
	r, err := f.FenceRequest(t.Context(), "n", "a")
	if err != nil {
		t.Fatal(err)
	}
	old := r.DeepCopy()
	if r, err = f.HoldFenceRequest(t.Context(), r, true); err != nil {
		t.Fatal(err)
	}
	r.Status = api.FenceRequestStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{{Type: "Processing", Status: "True", Reason: "R"}}}
	if r, err = f.SaveFenceRequestStatus(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"finalizers":["theirs","nodefence.io/fence-request"],"name":"a","namespace":"n","uid":"u"},"spec":{"novel":1},` +
		`"status":{"conditions":[{"lastTransitionTime":null,"message":"","reason":"R","status":"True","type":"Processing"}],"novel":1,"observedGeneration":2}}`
	if d := cmp.Diff(want, f.text(path)); d != "" {
		t.Error(d)
	}
	for name, err := range map[string]error{
		"hold":   second(f.HoldFenceRequest(t.Context(), old, true)),
		"let go": second(f.HoldFenceRequest(t.Context(), old, false)),
		"status": second(f.SaveFenceRequestStatus(t.Context(), old)),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s an object that was written since: %v", name, err)
		}
	}
	if r, err = f.HoldFenceRequest(t.Context(), r, false); err != nil || len(r.Finalizers) != 1 || r.Finalizers[0] != "theirs" {
		t.Error(r.Finalizers, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAClusterWithoutFenceRequests has none, and that is no error.
func TestAClusterWithoutFenceRequests(t *testing.T) {
	f := newFakeAPI(t)
	f.answer[fenceRequestsPath("n")] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusNotFound, "NotFound") }
	if all, err := f.FenceRequests(t.Context(), "n"); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	f.answer[fenceRequestsPath("n")] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusForbidden, "Forbidden") }
	if _, err := f.FenceRequests(t.Context(), "n"); err == nil {
		t.Error("an API server that refuses is no empty list")
	}
}

// TestAWithdrawalIsComparedWithWhatWasRead: a gate that has read the record before it can't write,
// and an abort is about the fence that was looked at (S17: a fence whose reason is gone is called
// off).
func TestAWithdrawalIsComparedWithWhatWasRead(t *testing.T) {
	f := newFakeAPI(t)
	f.set(fencePath, `{"metadata":{"name":"a","uid":"f1"},"spec":{"nodeName":"a","novel":1}}`)
	before, err := f.Fence(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	after, err := f.MarkWithdrawn(t.Context(), before, "u")
	if err != nil {
		t.Fatal(err)
	}
	number := int64(1)
	abort := api.AbortRequest{FenceNumber: &number, By: "me", At: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), Reason: "why"}
	for name, err := range map[string]error{
		"open":  second(f.SaveFenceStatus(t.Context(), before)),
		"mark":  second(f.MarkWithdrawn(t.Context(), before, "v")),
		"asker": second(f.MarkAskerWithdrawn(t.Context(), before, "v")),
		"abort": second(f.AbortWithdrawn(t.Context(), before, "u", abort)),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("%s by what was read before: %v", name, err)
		}
	}
	if _, err := f.AbortWithdrawn(t.Context(), after, "u", abort); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"annotations":{"nodefence.io/withdrawn-request":"u"},"name":"a","uid":"f1"},"spec":{"nodeName":"a","novel":1,"requests":{"abort":{"at":"2026-01-02T03:04:05Z","by":"me","fenceNumber":1,"reason":"why"}}}}`
	if d := cmp.Diff(want, f.text(fencePath)); d != "" {
		t.Error(d)
	}
}

// TestWhoAmI asks for the name that the admission policy compares an abort with.
func TestWhoAmI(t *testing.T) {
	f := newFakeAPI(t)
	f.answer["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = says(`{"status":{"userInfo":{"username":"anna"}}}`)
	if me, err := f.WhoAmI(t.Context()); me != "anna" || err != nil {
		t.Error(me, err)
	}
}

// TestWhatIsSaidOfAFenceRequest: the Event is beside the object, whatever its namespace, and the same one is
// written once. The list of all is bounded.
func TestWhatIsSaidOfAFenceRequest(t *testing.T) {
	f := newFakeAPI(t)
	f.answer[group+"/fencerequests"] = func(w http.ResponseWriter, r request) {
		if r.Query.Get("limit") != "500" {
			t.Errorf("the list has no bound: %v", r.Query)
		}
		_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}]}`)
	}
	all, err := f.AllFenceRequests(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	for range 2 {
		if err := f.ReportFenceRequest(t.Context(), &all[0], "resync", "R", "why"); err != nil {
			t.Error(err)
		}
	}
	written := f.writes()
	e := parse(t, written[0].Body)
	delete(e, "firstTimestamp")
	delete(e, "lastTimestamp")
	want := `{"apiVersion":"v1","count":1,"eventTime":null,"involvedObject":{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceRequest","name":"a","namespace":"n","resourceVersion":"7","uid":"u"},"kind":"Event",` +
		`"message":"[remediation] why","metadata":{"name":"NAME","namespace":"n"},"reason":"R",` +
		`"reportingComponent":"nodefence.io/resync","reportingInstance":"resync","source":{"component":"nodefence-resync"},"type":"Warning"}`
	name := meta(e)["name"].(string)
	meta(e)["name"] = "NAME"
	if d := cmp.Diff(want, encode(t, e)); d != "" || written[0].Path != "/api/v1/namespaces/n/events" {
		t.Errorf("%s to %s", d, written[0].Path)
	}
	if again := meta(parse(t, written[1].Body))["name"]; !strings.HasPrefix(name, "a.") || again != name {
		t.Errorf("the same is written as %s and as %s", name, again)
	}
}

// TestNodeHealthCheck: it is read as it is. A name that could be another path, and a cluster without the kind,
// have none.
func TestNodeHealthCheck(t *testing.T) {
	f := newFakeAPI(t)
	f.set("/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks/x", `{"metadata":{"name":"x"},"spec":{"novel":1}}`)
	for name, want := range map[string]string{"x": `{"metadata":{"name":"x","resourceVersion":"1"},"spec":{"novel":1}}`, "y": "", "../nodehealthchecks/x": "", "": ""} {
		if raw, err := f.NodeHealthCheck(t.Context(), name); err != nil || string(raw) != want {
			t.Errorf("%q: %s, %v, want %s", name, raw, err, want)
		}
	}
}

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPostEvent(t *testing.T) {
	f := newFakeAPI(t)
	if err := f.PostEvent(t.Context(), Event{Kind: "Node", APIVersion: "v1", Name: "a", UID: "u1", Reason: "Fenced", Message: "seen off", Reporter: "power", Warning: true}); err != nil {
		t.Fatal(err)
	}
	sent := f.writes()[0]
	e := parse(t, sent.Body)
	delete(e, "firstTimestamp")
	delete(e, "lastTimestamp")
	want := `{"apiVersion":"v1","count":1,"eventTime":null,"involvedObject":{"apiVersion":"v1","kind":"Node","name":"a","uid":"u1"},"kind":"Event",` +
		`"message":"[fence] seen off","metadata":{"generateName":"a.","namespace":"default"},"reason":"Fenced",` +
		`"reportingComponent":"nodefence.io/power","reportingInstance":"power","source":{"component":"nodefence-power"},"type":"Warning"}`
	if d := cmp.Diff(want, encode(t, e)); d != "" {
		t.Error(d)
	}
	if sent.Path != "/api/v1/namespaces/default/events" {
		t.Error(sent.Path)
	}
}

// TestPostEventAboutAnObjectOfANamespace: the API server takes such an Event in that namespace
// alone, where the object's namespace stands in it.
func TestPostEventAboutAnObjectOfANamespace(t *testing.T) {
	f := newFakeAPI(t)
	if err := f.PostEvent(t.Context(), Event{Namespace: "n", Kind: "FenceRequest", APIVersion: "x/v1", Name: "a", UID: "u1", Topic: "remediation", Reason: "Started", Message: "asked", Reporter: "request"}); err != nil {
		t.Fatal(err)
	}
	sent := f.writes()[0]
	e := parse(t, sent.Body)
	got := encode(t, map[string]any{"metadata": e["metadata"], "involvedObject": e["involvedObject"], "message": e["message"]})
	want := `{"involvedObject":{"apiVersion":"x/v1","kind":"FenceRequest","name":"a","namespace":"n","uid":"u1"},"message":"[remediation] asked","metadata":{"generateName":"a.","namespace":"n"}}`
	if d := cmp.Diff(want, got); d != "" || sent.Path != "/api/v1/namespaces/n/events" {
		t.Errorf("%s to %s", d, sent.Path)
	}
}

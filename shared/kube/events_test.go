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

package kube

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/fence"
)

const podPath = "/api/v1/namespaces/n/pods/p"

// TestForceDeleteRemovesOnePodAndNoOther: another pod of its name, which the
// StatefulSet may have made meanwhile, lives on (S6).
func TestForceDeleteRemovesOnePodAndNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		there, left string
		refusal     int
		fails       bool
	}{
		"this pod":             {`{"metadata":{"name":"p","uid":"p1"}}`, "", 0, false},
		"another of its name":  {`{"metadata":{"name":"p","uid":"p2"}}`, `{"metadata":{"name":"p","uid":"p2"}}`, 0, false},
		"none":                 {"", "", 0, false},
		"one that may not go":  {`{"metadata":{"name":"p","uid":"p1"}}`, `{"metadata":{"name":"p","uid":"p1"}}`, http.StatusForbidden, true},
		"a server that is ill": {`{"metadata":{"name":"p","uid":"p1"}}`, `{"metadata":{"name":"p","uid":"p1"}}`, http.StatusInternalServerError, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			if c.there != "" {
				f.set(podPath, c.there)
			}
			if c.refusal != 0 {
				f.answer[podPath] = func(w http.ResponseWriter, _ request) { refuse(w, c.refusal, http.StatusText(c.refusal)) }
			}
			if err := f.ForceDelete(t.Context(), fence.Pod{Namespace: "n", Name: "p", UID: "p1"}); (err != nil) != c.fails {
				t.Error(err)
			}
			if d := cmp.Diff(c.left, f.text(podPath)); d != "" {
				t.Error(d)
			}
			want := `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"p1"}}`
			if d := cmp.Diff(want, strings.TrimSpace(f.writes()[0].Body)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSay(t *testing.T) {
	f := newFakeAPI(t)
	if err := f.Say(t.Context(), Event{Kind: "Node", APIVersion: "v1", Name: "a", UID: "u1", Reason: "Fenced", Message: "seen off", Reporter: "power", Warning: true}); err != nil {
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

func TestMarkNotReadyIsBoundToTheNode(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodePath, node("", "", ""))
	if err := f.MarkNotReady(t.Context(), "a", "u1", "1"); err != nil {
		t.Fatal(err)
	}
	sent := f.writes()[0]
	if sent.Method != http.MethodPatch || sent.Path != nodePath+"/status" || sent.Type != "application/strategic-merge-patch+json" {
		t.Errorf("sent %+v", sent)
	}
	body := parse(t, sent.Body)
	ready := body["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)
	delete(ready, "lastHeartbeatTime")
	delete(ready, "lastTransitionTime")
	want := `{"metadata":{"resourceVersion":"1","uid":"u1"},"status":{"conditions":[{"message":"nodefence has seen this machine off","reason":"NodefenceMachineOff","status":"Unknown","type":"Ready"}]}}`
	if d := cmp.Diff(want, encode(t, body)); d != "" {
		t.Error(d)
	}
	if err := f.MarkNotReady(t.Context(), "a", "u2", "1"); err == nil {
		t.Error("another node of this name was marked")
	}
	f.set(nodePath, node("", ours, ""))
	if err := f.MarkNotReady(t.Context(), "a", "u1", "1"); !errors.Is(err, ErrConflict) {
		t.Errorf("a node that is not as it was looked at: %v", err)
	}
}

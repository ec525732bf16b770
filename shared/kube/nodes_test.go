package kube

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetReadyUnknownIsBoundToTheNode(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodePath, node("", "", ""))
	if err := f.SetReadyUnknown(t.Context(), "a", "u1", "1"); err != nil {
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
	if err := f.SetReadyUnknown(t.Context(), "a", "u2", "1"); err == nil {
		t.Error("another node of this name was marked")
	}
	f.set(nodePath, node("", ours, ""))
	if err := f.SetReadyUnknown(t.Context(), "a", "u1", "1"); !errors.Is(err, ErrConflict) {
		t.Errorf("a node that is not as it was looked at: %v", err)
	}
}

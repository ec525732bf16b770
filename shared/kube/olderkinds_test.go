package kube

import (
	"net/http"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestOlderKindsRefuseAPhase that they do not have, and the answer says what to do.
func TestOlderKindsRefuseAPhase(t *testing.T) {
	f := newFakeAPI(t)
	path := fencesPath + "/a/status"
	f.set(fencesPath+"/a", `{"metadata":{"name":"a"}}`)
	f.answer[path] = func(w http.ResponseWriter, _ request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"NodeFence \"a\" is invalid","details":{"causes":[` +
			`{"reason":"FieldValueInvalid","field":"<nil>","message":"some existing validation rules were not checked"},` +
			`{"reason":"FieldValueNotSupported","field":"status.phase","message":"Unsupported value: \"Probing\""}]}}`))
	}
	fence, err := f.Fence(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	fence.Status.Phase = api.Probing
	_, err = f.SaveFenceStatus(t.Context(), fence)
	if want := `nodefence's kinds are older here than this program (kubectl apply --server-side -k infra/crd): status.phase: Unsupported value: "Probing"`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}

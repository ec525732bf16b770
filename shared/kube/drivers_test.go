package kube

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/device"
)

// TestForDrivers: each answer of the API server becomes the one error that tells an operator what
// to correct.
func TestForDrivers(t *testing.T) {
	const kind = "/apis/example.io/v1/things"
	const path = kind + "/a"
	for name, tc := range map[string]struct {
		code                        int
		reason                      metav1.StatusReason
		details                     *metav1.StatusDetails
		get, create, update, remove error
	}{
		"nobody":    {http.StatusUnauthorized, metav1.StatusReasonUnauthorized, nil, device.ErrDenied, device.ErrDenied, device.ErrDenied, device.ErrDenied},
		"forbidden": {http.StatusForbidden, metav1.StatusReasonForbidden, nil, device.ErrDenied, device.ErrDenied, device.ErrDenied, device.ErrDenied},
		"none":      {http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "a", Kind: "things"}, nil, device.ErrUnsupported, device.ErrConflict, nil},
		"nameless":  {http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{}, device.ErrNotServed, device.ErrNotServed, device.ErrNotServed, device.ErrNotServed},
		"another":   {http.StatusNotFound, metav1.StatusReasonNotFound, &metav1.StatusDetails{Name: "b", Kind: "things"}, device.ErrUnsupported, device.ErrUnsupported, device.ErrUnsupported, device.ErrUnsupported},
		"no path":   {http.StatusNotFound, "", nil, device.ErrNotServed, device.ErrNotServed, device.ErrNotServed, device.ErrNotServed},
		"written":   {http.StatusConflict, metav1.StatusReasonConflict, nil, device.ErrConflict, device.ErrConflict, device.ErrConflict, device.ErrConflict},
		"there":     {http.StatusConflict, metav1.StatusReasonAlreadyExists, nil, device.ErrConflict, device.ErrConflict, device.ErrConflict, device.ErrConflict},
		"invalid":   {http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, nil, device.ErrUnsupported, device.ErrUnsupported, device.ErrUnsupported, device.ErrUnsupported},
		"broken":    {http.StatusInternalServerError, metav1.StatusReasonInternalError, nil, device.ErrUnreachable, device.ErrUnreachable, device.ErrUnreachable, device.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			for _, p := range []string{kind, path} {
				f.answer[p] = func(w http.ResponseWriter, _ request) {
					if tc.reason == "" { // like an API server that does not serve a path
						http.Error(w, "404 page not found", tc.code)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(tc.code)
					_ = json.NewEncoder(w).Encode(metav1.Status{
						TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure",
						Message: "words of\n the API server", Reason: tc.reason, Details: tc.details, Code: int32(tc.code),
					})
				}
			}
			c := f.ForDrivers()
			doc, err := c.Get(t.Context(), path)
			if doc != nil {
				t.Errorf("read %s", doc)
			}
			for call, got := range map[string]struct{ err, want error }{
				"get":    {err, tc.get},
				"create": {c.Create(t.Context(), kind, []byte(`{}`)), tc.create},
				"update": {c.Update(t.Context(), path, []byte(`{}`)), tc.update},
				"delete": {c.Delete(t.Context(), path, "u", "1"), tc.remove},
			} {
				if !errors.Is(got.err, got.want) || got.err != nil && strings.Contains(got.err.Error(), "\n") {
					t.Errorf("%s gives %v, want %v", call, got.err, got.want)
				}
			}
		})
	}
}

package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestDeleteNode: exactly the Node that was looked at, as it was (S6).
func TestDeleteNode(t *testing.T) {
	for name, c := range map[string]struct {
		code     int
		reason   metav1.StatusReason
		conflict bool
		fails    bool
	}{
		"deleted":         {http.StatusOK, "", false, false},
		"gone already":    {http.StatusNotFound, metav1.StatusReasonNotFound, false, false},
		"changed since":   {http.StatusConflict, metav1.StatusReasonConflict, true, true},
		"without a right": {http.StatusForbidden, metav1.StatusReasonForbidden, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var o metav1.DeleteOptions
				_ = json.NewDecoder(r.Body).Decode(&o)
				asked = append(asked, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, *o.Preconditions.UID, *o.Preconditions.ResourceVersion))
				w.Header().Set("Content-Type", "application/json")
				refuse(w, c.code, string(c.reason))
			}))
			defer server.Close()
			client, err := New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			err = client.DeleteNode(t.Context(), "a", "u", "7")
			if (err != nil) != c.fails || errors.Is(err, ErrConflict) != c.conflict {
				t.Error(err)
			}
			if d := cmp.Diff([]string{"DELETE /api/v1/nodes/a u 7"}, asked); d != "" {
				t.Error(d)
			}
		})
	}
}

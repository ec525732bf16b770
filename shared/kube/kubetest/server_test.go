package kubetest

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/kube"
)

// TestTable: a client takes the answers for those of an API server.
func TestTable(t *testing.T) {
	var written []string
	c := Client(t, Table(map[string]any{
		"/api/v1/nodes/text":   `{"metadata":{"name":"text","uid":"1"}}`,
		"/api/v1/nodes/object": corev1.Node{Spec: corev1.NodeSpec{ProviderID: "p"}},
	}, func(w http.ResponseWriter, r *http.Request) {
		written = append(written, r.Method+" "+r.URL.Path)
		Refuse(w, http.StatusConflict, "Conflict")
	}))
	for name, want := range map[string]string{"text": "1 ", "object": " p", "none": "nothing"} {
		n, err := c.Node(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if n != nil {
			got = fmt.Sprint(n.UID, " ", n.Spec.ProviderID)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if err := c.DeleteNode(t.Context(), "text", types.UID("1"), "7"); !errors.Is(err, kube.ErrConflict) || fmt.Sprint(written) != "[DELETE /api/v1/nodes/text]" {
		t.Errorf("%v, %q", err, written)
	}
}

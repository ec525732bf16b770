package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// TestEachFunctionActsAsItsAccount, and a request of no function as the process itself (S20: Kubernetes says who may ask).
func TestEachFunctionActsAsItsAccount(t *testing.T) {
	var users []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		users = append(users, r.Header.Get("Impersonate-User"))
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	ActAs(cfg, func(function string) string { return "account-of-" + function })
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	gate := WithFunction(t.Context(), "gate")
	_ = c.Ready(gate)
	_ = c.Ready(WithFunction(gate, "power"))
	_ = c.Ready(t.Context())
	if d := cmp.Diff([]string{"account-of-gate", "account-of-power", ""}, users); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

package cluster

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestNow is the API server's time, whatever the clock of this machine says.
func TestNow(t *testing.T) {
	c, err := New(kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
		kubetest.Answer(w, corev1.NodeList{})
	})))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, now := range map[string]time.Time{"the client": c.Now(), "what was read": s.Now} {
		if off := time.Since(now); off < 5*time.Minute {
			t.Errorf("%s has %s, which is the clock of this machine", what, now)
		}
	}
}

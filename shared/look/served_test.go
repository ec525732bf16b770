package look_test

import (
	"net/http"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

const (
	nodePath     = "/api/v1/nodes/a"
	leasePath    = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a"
	dumpPath     = "/apis/coordination.k8s.io/v1/namespaces/nodefence-kdump/leases/a"
	policiesPath = "/apis/nodefence.io/v1alpha1/fencepolicies"
	ledgerPath   = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
)

// served is what an API server holds and refuses, by path, and what it was asked for. A list of
// what has a label is a path of its own, with the label selector behind a question mark.
type served struct {
	objects map[string]string
	refused map[string]int32
	mu      sync.Mutex
	asked   []string
}

var reasons = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

// client is one that asks it.
func (s *served) client(t *testing.T) *kube.Client {
	t.Helper()
	answers := kubetest.Table(s.objects, nil)
	return kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if label := r.URL.Query().Get("labelSelector"); label != "" {
			r.URL.Path += "?" + label
		}
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		if code := s.refused[r.URL.Path]; code != 0 {
			kubetest.Refuse(w, code, reasons[code])
			return
		}
		answers(w, r)
	}))
}

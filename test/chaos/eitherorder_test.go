package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	recovery "github.com/nodefence/nodefence/functions/recover"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/test/rig"
)

// TestReadyAndTheLeaseInEitherOrder: a node that has booted is Ready and renews its Lease, in either
// order. The source wakes its fence by each of the two (TestANodeThatIsBackWakesItsFence). Health
// counts by the second wake-up, though the record names a later time for its next look, and though this
// process has read the node and its Lease a moment ago.
func TestReadyAndTheLeaseInEitherOrder(t *testing.T) {
	ready := func(b *booting) { b.ready = "True" }
	moves := func(b *booting) { b.renewed = metav1.NewMicroTime(b.renewed.Add(time.Minute)) }
	for name, order := range map[string][]func(*booting){
		"Ready comes last":     {moves, ready},
		"the Lease moves last": {ready, moves},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBooting()
			client := kubetest.Client(t, b)
			source := events.SourceOf("c")
			handle := functions.Handlers(functions.Parts{
				Settings: rig.Settings(), Client: client, Source: source, Log: quiet(), Reporter: report.New(quiet(), client, prometheus.NewRegistry()),
			})[recovery.Name]
			var counts []bool
			for _, change := range order {
				b.mu.Lock()
				change(b)
				f := b.record.DeepCopy()
				b.mu.Unlock()
				if _, err := handle(t.Context(), source.Phase(f, time.Now(), time.Now())); err != nil {
					t.Fatal(err)
				}
				b.mu.Lock()
				counts = append(counts, b.record.Status.ReadySince != nil)
				if next := b.record.Status.NextLook; next == nil || !next.After(time.Now()) {
					t.Errorf("the next look is at %v: this would not show that it isn't waited for", next)
				}
				b.mu.Unlock()
			}
			if d := cmp.Diff([]bool{false, true}, counts); d != "" {
				t.Errorf("whether health counts: %s", d)
			}
		})
	}
}

// booting is an API server with a fence that waits for health, its node, and the node's Lease, which
// has not moved since before the fence began.
type booting struct {
	mu      sync.Mutex
	ready   string
	renewed metav1.MicroTime
	record  api.NodeFence
}

func newBooting() *booting {
	began := metav1.NewMicroTime(time.Now().Add(-time.Minute).Truncate(time.Microsecond)) // as the API server keeps it
	still := metav1.NewMicroTime(began.Add(-time.Minute))
	return &booting{ready: "Unknown", renewed: still, record: api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: "1", Finalizers: []string{api.Finalizer}},
		Spec:       api.NodeFenceSpec{NodeName: "a"},
		Status: api.NodeFenceStatus{
			FenceNumber: 1, MinReaderVersion: api.Schema, Phase: api.Recovering, PhaseSince: &began, OpenedAt: &began,
			Lease: api.LeaseRecord{Renewed: still.UTC().Format(time.RFC3339Nano), StillSince: &still},
			Decision: api.Decision{NodeUID: "u1", ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{
				Action: api.ActionReboot, Recovery: (*api.Recovery)(nil).Settings(), Power: (*api.Power)(nil).Settings()}}},
		},
	}}
}

func (b *booting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch path := r.URL.Path; {
	case r.Method == http.MethodPut && path == "/apis/nodefence.io/v1alpha1/nodefences/a/status":
		if err := json.NewDecoder(r.Body).Decode(&b.record); err != nil {
			kubetest.Refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		b.record.ResourceVersion += "0"
		kubetest.Answer(w, b.record)
	case path == "/apis/nodefence.io/v1alpha1/nodefences/a":
		kubetest.Answer(w, b.record)
	case path == "/api/v1/nodes/a":
		kubetest.Answer(w, fmt.Sprintf(`{"metadata":{"name":"a","uid":"u1"},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, b.ready))
	case path == "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a":
		kubetest.Answer(w, fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":40,"renewTime":%q}}`, b.renewed.UTC().Format(metav1.RFC3339Micro)))
	default:
		kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

package recover

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/report"
)

// TestAWakeUpIsNews: the source wakes a recovering fence because its Node has become Ready. The
// function sees that even if this process saw the Node otherwise less than a second ago: the next
// wake-up would come half a minute later.
func TestAWakeUpIsNews(t *testing.T) {
	at := metav1.NewMicroTime(time.Now().Add(-time.Minute))
	n := &booting{status: "Unknown", record: api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f1", ResourceVersion: "1", Finalizers: []string{api.Finalizer}},
		Spec:       api.NodeFenceSpec{NodeName: "a"},
		Status: api.NodeFenceStatus{FenceNumber: 1, MinReaderVersion: api.Schema, Phase: api.Recovering, PhaseSince: &at, OpenedAt: &at,
			Decision: api.Decision{NodeUID: "u1", ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{
				Action: api.ActionReboot, Recovery: (*api.Recovery)(nil).Settings(), Power: (*api.Power)(nil).Settings()}}}},
	}}
	client := kubetest.Client(t, n)
	r := &Recoverer{Client: client, Log: slog.New(slog.DiscardHandler)}
	source := events.SourceOf("c")
	r.Loop = &loop.Loop{
		Function: Name, Owns: Phases, Store: client, Does: r, Reporter: quiet{}, Source: source, Now: client.Clock().Now,
		Elapsed: client.Clock().Elapsed, Me: func() string { return "me" }, Conflict: kube.ErrConflict, Records: &loop.RecordCache{},
	}
	var seen []bool
	for _, status := range []string{"Unknown", "True"} {
		n.status = status
		if _, err := r.Handle(t.Context(), source.Phase(&n.record, time.Now(), time.Now())); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, n.record.Status.ReadySince != nil)
	}
	if d := cmp.Diff([]bool{false, true}, seen); d != "" {
		t.Errorf("seen Ready: %s", d)
	}
}

// booting is an API server with a fence that recovers, and its node.
type booting struct {
	mu     sync.Mutex
	status string
	record api.NodeFence
}

func (b *booting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Method == http.MethodPut:
		_ = json.NewDecoder(r.Body).Decode(&b.record)
		b.record.ResourceVersion += "0"
		kubetest.Answer(w, b.record)
	case r.URL.Path == "/api/v1/nodes/a":
		kubetest.Answer(w, fmt.Sprintf(`{"metadata":{"name":"a","uid":"u1"},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, b.status))
	case r.URL.Path == "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a":
		kubetest.Answer(w, fmt.Sprintf(`{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":40,"renewTime":%q}}`, metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)))
	default:
		kubetest.Answer(w, b.record)
	}
}

// quiet reports no decision.
type quiet struct{ report.Reporter }

func (quiet) Decided(context.Context, report.Decision) {}

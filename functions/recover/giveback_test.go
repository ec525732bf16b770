package recover

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/remediation"
)

// held is a Lease that nobody may delete.
type held struct{ deletions int }

func (h *held) LeaseIn(context.Context, string, string) (*coordinationv1.Lease, error) {
	by := remediation.Holder
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &by}}, nil
}
func (h *held) SaveLease(context.Context, *coordinationv1.Lease) error { return nil }
func (h *held) FenceRequest(context.Context, string, string) (*api.FenceRequest, error) {
	return nil, nil
}
func (h *held) NodeHealthCheck(context.Context, string) (json.RawMessage, error) {
	return nil, nil
}
func (h *held) DeleteLease(context.Context, *coordinationv1.Lease) error {
	h.deletions++
	return errors.New("forbidden")
}

// TestALeaseHoldsNoFinalizer: a record ends also where the Lease that kept others away can't be given
// back (S27: every end is reachable).
func TestALeaseHoldsNoFinalizer(t *testing.T) {
	patched := 0
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f", Finalizers: []string{api.Finalizer}}, Spec: api.NodeFenceSpec{NodeName: "a"}}
	client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patched++
		kubetest.Answer(w, api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}})
	}))
	lease := &held{}
	r := &Recoverer{Client: client, Log: slog.New(slog.DiscardHandler), Remediation: &remediation.Leases{
		Cluster: lease, Namespace: "n", Now: client.Clock().Now, Elapsed: func() time.Duration { return 0 }, Conflict: kube.ErrConflict,
	}}
	made, err := r.Act(t.Context(), f, fence.DropFinalizer, observed.Look{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.deletions != 1 || patched != 1 || len(made.Record.Finalizers) > 0 {
		t.Errorf("%d deletions of the Lease, %d writes of the record, finalizers %v", lease.deletions, patched, made.Record.Finalizers)
	}
}

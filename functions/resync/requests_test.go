package resync

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

type asking map[string][]api.FenceRequest

func (a asking) FenceRequests(_ context.Context, namespace string) ([]api.FenceRequest, error) {
	if namespace == "away" {
		return nil, errors.New("no answer")
	}
	return a[namespace], nil
}

// TestFenceRequestsAreLookedAt until they are done with, in the namespaces that count: a lost event
// costs time only, also where source and broker are dead (S19). One that was given up after it had failed is
// done with once its fence is over.
func TestFenceRequestsAreLookedAt(t *testing.T) {
	one := func(namespace, name string, change func(*api.FenceRequest)) api.FenceRequest {
		r := api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("u-" + name), Finalizers: []string{api.RequestFinalizer}}}
		change(&r)
		return r
	}
	asIs := func(*api.FenceRequest) {}
	ended := func(r *api.FenceRequest) { r.Status = ask.Refused(r, api.NoPolicy, "no", now) }
	deleted := func(r *api.FenceRequest) { ended(r); at := metav1.NewTime(now); r.DeletionTimestamp = &at }
	givenUp := func(r *api.FenceRequest) {
		ended(r)
		r.Annotations = map[string]string{api.TimedOutAnnotation: "x"}
	}
	askedBy := func(name string, phase api.Phase) api.NodeFence {
		f := record(name, phase, -time.Hour)
		f.Status.Decision.AskedBy = []api.AskedBy{{ID: "u-" + name, Source: "/fencerequests/last/" + name}}
		return f
	}
	ofMachine := func(r *api.FenceRequest) {
		givenUp(r)
		r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: r.Name, UID: "m"}}
		r.Status.NodeFence.Name = "i-node"
	}
	fences := []api.NodeFence{askedBy("g", api.Failed), askedBy("h", api.Finished), record("i-node", api.Failed, -time.Hour)}
	fences[2].Status.Decision.AskedBy = []api.AskedBy{{ID: "u-i", Source: "/fencerequests/last/i"}}
	there := asking{
		"last":  {one("last", "g", givenUp), one("last", "h", givenUp), one("last", "i", ofMachine)},
		"own":   {one("own", "a", asIs), one("own", "b", ended), one("own", "c", deleted), one("own", "d-x", func(r *api.FenceRequest) { r.Spec.NodeName = "d" })},
		"other": {one("other", "e", asIs)}, "else": {one("else", "f", asIs)},
	}
	b := &broker{}
	w := &Resyncer{
		Fences: records{all: fences}, Requests: there, RequestNamespaces: ask.Namespaces{"own", "away", "other", "last"}, Source: events.SourceOf("c"), Sender: b,
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	}
	err := w.Resync(t.Context())
	if err == nil || err.Error() != "look for FenceRequests in namespace away: no answer" {
		t.Error(err)
	}
	const typ = " " + events.FenceRequestChanged
	if d := cmp.Diff([]string{"a" + typ, "c" + typ, "d" + typ, "e" + typ, "g" + typ, "i-node" + typ}, b.got); d != "" {
		t.Error(d)
	}
}

// TestEachRoundIsAnotherEventOfARequest, which no broker takes for a duplicate (S19).
func TestEachRoundIsAnotherEventOfARequest(t *testing.T) {
	var ids []string
	at := now
	w := &Resyncer{
		Fences: records{}, Requests: asking{"own": {{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a", UID: "u"}}}}, RequestNamespaces: ask.Namespaces{"own"},
		Source: events.SourceOf("c"), Sender: sent(func(e event.Event) { ids = append(ids, e.ID()) }), Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler),
	}
	for _, d := range []time.Duration{0, time.Second, facts.Resync} {
		at = now.Add(d)
		if err := w.Resync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 3 || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Error(ids)
	}
}

package apiserver

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// holding is a sender that holds each event until let is closed.
type holding struct{ has, let chan struct{} }

func (h holding) Send(context.Context, event.Event) error {
	select {
	case h.has <- struct{}{}:
	default:
	}
	<-h.let
	return nil
}

// TestWhoIsAskedToStopLeadsNoMore, though an event is still on its way: the next leader begins, and two
// would be seen.
func TestWhoIsAskedToStopLeadsNoMore(t *testing.T) {
	f := newFakeAPI(t)
	f.set(nodesURL, nodeIn("a", "False", 0))
	reg, out := prometheus.NewRegistry(), holding{make(chan struct{}, 1), make(chan struct{})}
	s, err := New(Options{
		Config: &rest.Config{Host: f.url}, Client: f.client(), Sender: out, Logger: quiet(), Source: "c", Namespace: "ns",
		Resync: time.Hour, Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	leads := func() (v float64) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "nodefence_source_leads" {
				v = family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return v
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.lead(ctx) }()
	<-out.has
	eventually(t, func() bool { return leads() == 1 })
	cancel()
	eventually(t, func() bool { return leads() == 0 })
	close(out.let)
	f.cutWatches("")
	<-done
}

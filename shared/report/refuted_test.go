package report

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARefutedCutIsTold: as a warning on the NodeFence and on the Node, once, wherever the fence stands.
func TestARefutedCutIsTold(t *testing.T) {
	speaker := &heard{}
	p := New(slog.New(slog.DiscardHandler), speaker, prometheus.NewRegistry())
	f := &api.NodeFence{}
	f.Name, f.UID, f.Spec.NodeName = "a", "f1", "a"
	f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Recovering, Reason: api.NodeHealthy, Message: "the node is Ready"}
	before := f.Status
	tell := func() {
		p.Decided(context.Background(), Decision{Function: "recover", Cause: event.New(), Before: before, Fence: f})
	}
	tell()
	if len(speaker.events) > 0 {
		t.Fatalf("told before: %+v", speaker.events)
	}
	f.Status.Refuted = &api.Refutation{At: metav1.NewMicroTime(time.Unix(1e9, 0)), FenceNumber: 1, Device: "ipmi 10.0.0.7", Level: 2, BootID: "b"}
	tell()
	before = f.Status
	tell()
	var got []string
	for _, e := range speaker.events {
		if !e.Warning || e.Reason != string(api.CutRefuted) || !strings.Contains(e.Message, "ipmi 10.0.0.7 (level 2) read off twice") {
			t.Errorf("%+v", e)
		}
		got = append(got, e.Kind)
	}
	if strings.Join(got, " ") != "NodeFence Node" {
		t.Errorf("told of %q", got)
	}
}

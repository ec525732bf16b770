package functions

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// TestTheOwnNodeIsTold: an unset variable must not switch the self-check off (S13).
func TestTheOwnNodeIsTold(t *testing.T) {
	const missing = "NODE_NAME is not set: it is the node that this process runs on, which this process never fences. " +
		"Set it by the downward API (fieldRef: spec.nodeName), or to none where this is no node of the cluster"
	for name, c := range map[string]struct{ function, node, err string }{
		"power without it":          {"power", "", missing},
		"gate without it":           {"gate", "", missing},
		"isolate without it":        {"isolate", "", missing},
		"all by type without it":    {"", "", missing},
		"cleanup has no use for it": {"cleanup", "", ""},
		"power on no node":          {"power", "none", ""},
		"power on a node":           {"power", "node-1", ""},
		"all by type, on no node":   {"", "none", ""},
		"recover has no use for it": {"recover", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewParts(t.Context(), Settings{Cluster: "c", Function: c.function, Self: c.node}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, err := Serve(p); err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("got %q, want %q", got, c.err)
			}
		})
	}
}

// TestWhoHasTheSecondWaker: a clock is for that process alone.
func TestWhoHasTheSecondWaker(t *testing.T) {
	for function, want := range map[string]bool{"waker": true, "": true, "power": false} {
		p, err := NewParts(t.Context(), Settings{Cluster: "c", Function: function, Self: NoNode}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		p.Sender = nowhere{}
		s, err := Serve(p)
		if err != nil || (s.Waker != nil) != want {
			t.Errorf("function %q: %v, %v", function, s.Waker, err)
		}
	}
}

type nowhere struct{}

func (nowhere) Send(context.Context, event.Event) error { return nil }

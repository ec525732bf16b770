package functions

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/run"
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

// TestWhoHasAClock: a clock runs only in the process that serves its function.
func TestWhoHasAClock(t *testing.T) {
	far := adopt.Kinds{adopt.FAR}
	for _, c := range []struct {
		function string
		adopts   adopt.Kinds
		want     int
	}{{"resync", far, 1}, {"policystatus", far, 1}, {"", nil, 2}, {"", far, 3}, {"adopt", far, 1}, {"power", far, 0}} {
		function, want := c.function, c.want
		p, err := NewParts(t.Context(), Settings{Cluster: "c", Function: function, Self: NoNode, Adopt: c.adopts, RequestNamespaces: ask.Namespaces{"n"}}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		p.Sender = nowhere{}
		s, err := Serve(p)
		if err != nil || len(s.Clocks) != want {
			t.Errorf("function %q: %d clocks, want %d, %v", function, len(s.Clocks), want, err)
		}
	}
}

type nowhere struct{}

func (nowhere) Send(context.Context, event.Event) error { return nil }

// TestATickReachesAllThatTakeOne: a clock's tick belongs to no single function, and has no
// reply.
func TestATickReachesAllThatTakeOne(t *testing.T) {
	var mu sync.Mutex
	var got []string
	takes := func(name string) run.Handler {
		return func(context.Context, event.Event) (*event.Event, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, name)
			return nil, errors.New(name)
		}
	}
	all := map[string]run.Handler{}
	for name := range table {
		all[name] = takes(name)
	}
	err := tick(t.Context(), all, event.New())
	slices.Sort(got) // they run side by side
	if d := cmp.Diff([]string{"adopt", "policystatus", "resync"}, got); d != "" || err == nil || err.Error() != "resync\npolicystatus\nadopt" {
		t.Errorf("%v %s", err, d)
	}
}

// TestATickIsIgnoredByAllOthers.
func TestATickIsIgnoredByAllOthers(t *testing.T) {
	for name := range table {
		for _, typ := range []string{events.Ping, events.Scheduled} {
			if want := name == "resync" || name == "policystatus" || name == "adopt"; Takes(name, typ) != want {
				t.Errorf("%s takes %s: %v", name, typ, !want)
			}
		}
	}
}

package report

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// series are how many a metric has, and what they count together.
func series(t *testing.T, reg prometheus.Gatherer, name string) (n int, sum float64) {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				n, sum = n+1, sum+m.GetCounter().GetValue()
			}
		}
	}
	return n, sum
}

// TestWhatAnAlertIsAboutBeginsAtZero: Prometheus sees no increase in a series that is born with it.
func TestWhatAnAlertIsAboutBeginsAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := New(slog.New(slog.DiscardHandler), &heard{}, reg, "gate", "power")
	born := map[string]int{}
	for _, name := range []string{"nodefence_dead_letters_total", "nodefence_actions_total"} {
		n, sum := series(t, reg, name)
		if born[name] = n; n == 0 || sum != 0 {
			t.Errorf("%s begins with %d series, which count %v", name, n, sum)
		}
	}
	lost := append(events.OwnTypes(), "a.stranger")
	for _, typ := range lost {
		e := event.New()
		e.SetType(typ)
		p.Lost(context.Background(), Loss{Event: e})
		p.Lost(context.Background(), Loss{Event: e, Unknown: true})
	}
	for _, a := range actionsOf(t) {
		for _, f := range []string{"gate", "power"} {
			p.Decided(context.Background(), Decision{Function: f, Cause: event.New(), Fence: &api.NodeFence{}, Action: fence.Action(a), Err: errors.New("no")})
		}
	}
	for name, was := range born {
		if n, sum := series(t, reg, name); n != was || sum == 0 {
			t.Errorf("%s has %d series after the events, and %d before", name, n, was)
		}
	}
}

// TestWhatSomebodyElseWroteFirstIsNoFailure: it is looked at again, and no alert is about it.
func TestWhatSomebodyElseWroteFirstIsNoFailure(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := New(slog.New(slog.DiscardHandler), &heard{}, reg)
	for _, err := range []error{nil, errors.New("no"), fmt.Errorf("taint node: %w", kube.ErrConflict)} {
		p.Decided(context.Background(), Decision{Function: "isolate", Cause: event.New(), Fence: &api.NodeFence{}, Action: fence.Isolate, Err: err})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "nodefence_actions_total" {
				got[m.GetLabel()[2].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if d := cmp.Diff(map[string]float64{"ok": 1, "error": 1, "conflict": 1}, got); d != "" {
		t.Error(d)
	}
}

// TestALongStayIsMeasured: an approval may be waited for a week, and a drain takes a day. Each phase begins
// at 0, so that the first stay that a process sees counts too.
func TestALongStayIsMeasured(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := New(slog.New(slog.DiscardHandler), &heard{}, reg, "gate")
	stays := func() map[string]*dto.Histogram {
		all := map[string]*dto.Histogram{}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "nodefence_phase_seconds" {
					all[m.GetLabel()[0].GetValue()] = m.GetHistogram()
				}
			}
		}
		return all
	}
	begun := len(stays())
	at := func(d time.Duration) *api.Time {
		t := metav1.NewMicroTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).Add(d))
		return &t
	}
	within := map[api.Phase][2]time.Duration{api.Draining: {20 * time.Hour, 24 * time.Hour}, api.Pending: {150 * time.Hour, 168 * time.Hour}, api.Fencing: {20 * time.Second, 30 * time.Second}}
	for phase, c := range within {
		f := &api.NodeFence{}
		f.Status.Phase, f.Status.PhaseSince = api.Failed, at(c[0])
		p.Decided(context.Background(), Decision{Cause: event.New(), Before: api.NodeFenceStatus{Phase: phase, PhaseSince: at(0)}, Fence: f})
	}
	all := stays()
	if begun != len(all) || begun < len(within) {
		t.Errorf("%d phases begin at 0, and %d are counted", begun, len(all))
	}
	for phase, c := range within {
		last := time.Duration(0)
		for _, b := range all[string(phase)].GetBucket() {
			if b.GetCumulativeCount() > 0 {
				last = time.Duration(b.GetUpperBound()) * time.Second
				break
			}
		}
		if last != c[1] {
			t.Errorf("a stay of %s in %s counts as one of %s at most, want %s", c[0], phase, last, c[1])
		}
	}
}

// actionsOf are all of package fence, in its source.
func actionsOf(t *testing.T) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../fence/outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is && len(v.Values) == 1 {
			if typ, is := v.Type.(*ast.Ident); is && typ.Name == "Action" {
				if s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value); err == nil && s != "" {
					all = append(all, s)
				}
			}
		}
		return true
	})
	if !slices.Contains(all, string(fence.Off)) {
		t.Fatalf("the actions are not found any more: %q", all)
	}
	return all
}

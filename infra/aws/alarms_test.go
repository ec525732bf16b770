package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run/emf"
)

// mostMetrics is how many metrics CloudWatch takes for one alarm.
const mostMetrics = 10

// TestAlarmsAreOnMetricsThatAreWritten: an alarm finds a metric only by the very name and dimensions with
// which a function's log has it. One on another metric never goes off.
func TestAlarmsAreOnMetricsThatAreWritten(t *testing.T) {
	wrote := written(t,
		decision(t, "gate", api.Pending, api.Pending, api.LeasePictureOld), decision(t, "isolate", api.Isolating, api.Isolating, api.LeasePictureOld),
		decision(t, "power", api.Fencing, api.Fencing, api.LeasePictureOld), decision(t, "cleanup", api.Releasing, api.Releasing, api.LeasePictureOld),
		decision(t, "gate", api.Pending, api.Failed, api.BindingInvalid),
	)
	var on []string
	for id, r := range stack(t).Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		all := metricsOf(t, r)
		if len(all) > mostMetrics {
			t.Errorf("%s has %d metrics, and CloudWatch takes %d", id, len(all), mostMetrics)
		}
		for _, m := range all {
			if !strings.HasPrefix(m, emf.Namespace+" ") {
				continue
			}
			on = append(on, id)
			if !wrote[m] {
				t.Errorf("%s is on %s, which nobody writes; written are\n%s", id, m, strings.Join(slices.Sorted(maps.Keys(wrote)), "\n"))
			}
		}
	}
	slices.Sort(on)
	if d := cmp.Diff([]string{"FenceFailedAlarm", "NobodyWatchesAlarm", "NobodyWatchesAlarm", "NobodyWatchesAlarm", "NobodyWatchesAlarm"}, on); d != "" {
		t.Error(d)
	}
	expression := at[[]any](t, stack(t).Resources["NobodyWatchesAlarm"], "Metrics")[0].(map[string]any)["Expression"]
	for _, phase := range []api.Phase{api.Pending, api.Isolating, api.Fencing, api.Releasing} {
		if !strings.Contains(fmt.Sprint(expression), "FILL("+strings.ToLower(string(phase))+", 0)") {
			t.Errorf("%s leaves %s out", expression, phase)
		}
	}
}

// decision is one of a function that owns the phase before it.
func decision(t *testing.T, function string, before, after api.Phase, why api.Reason) report.Decision {
	t.Helper()
	if !functions.Takes(function, "io.nodefence.fence."+strings.ToLower(string(before))+".v1") {
		t.Fatalf("%s does not own %s", function, before)
	}
	return report.Decision{Function: function, Before: api.NodeFenceStatus{Phase: before, Reason: why}, Fence: &api.NodeFence{Status: api.NodeFenceStatus{Phase: after, Reason: why}}}
}

type silent struct{}

func (silent) PostEvent(context.Context, kube.Event) error { return nil }

// written are the metrics that CloudWatch has of these decisions, each by its name and dimensions.
func written(t *testing.T, all ...report.Decision) map[string]bool {
	t.Helper()
	reg := prometheus.NewRegistry()
	p := report.New(slog.New(slog.DiscardHandler), silent{}, reg)
	for _, d := range all {
		p.Decided(t.Context(), d)
	}
	var out bytes.Buffer
	if err := emf.New(reg, &out, "prod").Write(); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range bytes.Lines(out.Bytes()) {
		var values map[string]any
		var l struct {
			AWS struct {
				CloudWatchMetrics []struct {
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal(line, &values); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		for _, dimensions := range l.AWS.CloudWatchMetrics[0].Dimensions {
			by := map[string]string{}
			for _, d := range dimensions {
				by[d] = fmt.Sprint(values[d])
			}
			names[named(emf.Namespace, l.AWS.CloudWatchMetrics[0].Metrics[0].Name, by)] = true
		}
	}
	return names
}

// metric is one of CloudWatch's, as an alarm names it.
type metric struct {
	Namespace, MetricName string
	Dimensions            []struct {
		Name  string
		Value any
	}
}

// metricsOf are those of an alarm, in the cluster prod.
func metricsOf(t *testing.T, alarm Resource) (all []string) {
	t.Helper()
	raw, err := json.Marshal(alarm.Properties)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		metric
		Metrics []struct{ MetricStat *struct{ Metric metric } }
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	found := []metric{}
	if a.MetricName != "" {
		found = append(found, a.metric)
	}
	for _, m := range a.Metrics {
		if m.MetricStat != nil {
			found = append(found, m.MetricStat.Metric)
		}
	}
	for _, m := range found {
		by := map[string]string{}
		for _, d := range m.Dimensions {
			by[d.Name] = fmt.Sprint(d.Value)
			if cmp.Equal(d.Value, any(ref("Ref", "ClusterName"))) {
				by[d.Name] = "prod"
			}
		}
		all = append(all, named(m.Namespace, m.MetricName, by))
	}
	return all
}

func named(namespace, name string, dimensions map[string]string) string {
	all := []string{namespace, name}
	for _, d := range slices.Sorted(maps.Keys(dimensions)) {
		all = append(all, d+"="+dimensions[d])
	}
	return strings.Join(all, " ")
}

package emf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/run/emf"
)

// TestWhatHasChangedIsWritten, once.
func TestWhatHasChangedIsWritten(t *testing.T) {
	reg := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "c_total"}, []string{"function", "reason"})
	actions := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "nodefence_actions_total"}, []string{"function", "outcome"})
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "g"})
	times := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "t_seconds"}, []string{"phase"})
	reg.MustRegister(counter, gauge, times, actions)
	var out bytes.Buffer
	w := emf.New(reg, &out, "prod")
	wrote := func(want ...string) {
		t.Helper()
		out.Reset()
		if err := w.Write(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines(out.String()) {
			got = append(got, read(t, l))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	wrote()
	counter.WithLabelValues("gate", "Admitted").Add(2)
	counter.WithLabelValues("gate", "").Inc()
	gauge.Set(1.5)
	times.WithLabelValues("Fencing").Observe(3)
	times.WithLabelValues("Fencing").Observe(4)
	wrote("c_total=1 Count [cluster=prod] [cluster=prod function=gate]", "c_total=2 Count [cluster=prod] [cluster=prod function=gate reason=Admitted]",
		"g=1.5 None [cluster=prod]",
		"t_seconds_count=2 Count [cluster=prod] [cluster=prod phase=Fencing]", "t_seconds_sum=7 Seconds [cluster=prod] [cluster=prod phase=Fencing]")
	wrote()
	counter.WithLabelValues("gate", "Admitted").Inc()
	gauge.Set(0)
	wrote("c_total=1 Count [cluster=prod] [cluster=prod function=gate reason=Admitted]", "g=0 None [cluster=prod]")
	counter.WithLabelValues(strings.Repeat("x", 2000), "y").Inc()
	wrote("c_total=1 Count [cluster=prod] [cluster=prod function=" + strings.Repeat("x", 1021) + "… reason=y]")
	actions.WithLabelValues("power", "error").Add(3)
	wrote("nodefence_actions_total=3 Count [cluster=prod] [cluster=prod outcome=error] [cluster=prod function=power outcome=error]")
	actions.DeleteLabelValues("power", "error")
	wrote()
	actions.WithLabelValues("power", "error").Inc()
	wrote("nodefence_actions_total=1 Count [cluster=prod] [cluster=prod outcome=error] [cluster=prod function=power outcome=error]")
}

// read is a line in words, once it has passed what AWS documents of the format: the root has _aws
// with Timestamp, a number, and CloudWatchMetrics, each with a Namespace, sets of at most 30
// Dimensions, which are names of texts of 1 to 1024 characters in the root, and at most 100 Metrics,
// which are names of numbers in the root, each with one of CloudWatch's units.
func read(t *testing.T, line string) string {
	t.Helper()
	var root map[string]any
	var meta struct {
		AWS struct {
			Timestamp         *int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	d := json.NewDecoder(strings.NewReader(line))
	if err := errors.Join(json.Unmarshal([]byte(line), &root), d.Decode(&meta)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if meta.AWS.Timestamp == nil || len(meta.AWS.CloudWatchMetrics) != 1 || len(line) > 256<<10 {
		t.Fatal(line)
	}
	of := meta.AWS.CloudWatchMetrics[0]
	if of.Namespace != "nodefence" || len(of.Dimensions) == 0 || len(of.Dimensions) > 3 || len(of.Metrics) != 1 {
		t.Fatal(line)
	}
	sets := ""
	for _, set := range of.Dimensions {
		if len(set) > 30 {
			t.Fatal(line)
		}
		var dims []string
		for _, name := range set {
			text, is := root[name].(string)
			if !is || text == "" || len(text) > 1024 {
				t.Errorf("dimension %s in %s", name, line)
			}
			dims = append(dims, name+"="+text)
		}
		sets += " [" + strings.Join(dims, " ") + "]"
	}
	m := of.Metrics[0]
	v, is := root[m.Name].(float64)
	if !is || m.Name == "" || !slices.Contains([]string{"Count", "Seconds", "None"}, m.Unit) {
		t.Errorf("metric %s in %s", m.Name, line)
	}
	b, _ := json.Marshal(v)
	return m.Name + "=" + string(b) + " " + m.Unit + sets
}

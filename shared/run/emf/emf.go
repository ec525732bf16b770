package emf

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/nodefence/nodefence/shared/clip"
)

// Namespace is that of the metrics in CloudWatch.
const Namespace = "nodefence"

// Writer writes the metrics of one process.
type Writer struct {
	from    prometheus.Gatherer
	out     io.Writer
	cluster string
	now     func() time.Time

	mu sync.Mutex
	// last has the values that were written, by series; seen are the series of the write under way.
	last map[string]float64
	seen map[string]bool
}

// New writes to out what is registered with from. Each metric has the cluster as a dimension besides
// its labels.
func New(from prometheus.Gatherer, out io.Writer, cluster string) *Writer {
	return &Writer{from: from, out: out, cluster: cluster, now: time.Now, last: map[string]float64{}}
}

// Write writes a line for each series that has changed since the last call: by how much a counter has
// grown, and what a gauge is. Of a histogram it writes count and sum, as two metrics.
func (w *Writer) Write() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	families, err := w.from.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	w.seen = map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, v := range w.changed(f, m) {
				line, err := json.Marshal(w.line(f, m, v))
				if err != nil {
					return fmt.Errorf("encode %s: %w", v.name, err)
				}
				if _, err := w.out.Write(append(line, '\n')); err != nil {
					return fmt.Errorf("write metrics: %w", err)
				}
			}
		}
	}
	// A series that is gone, such as that of a node, begins at 0 if it comes back.
	maps.DeleteFunc(w.last, func(key string, _ float64) bool { return !w.seen[key] })
	return nil
}

// value is one to be written.
type value struct {
	name, unit string
	v          float64
}

// changed are the values of a series that are news, which count as written from now on.
func (w *Writer) changed(f *dto.MetricFamily, m *dto.Metric) (all []value) {
	name := f.GetName()
	grown := func(name, unit string, is float64) {
		if by := w.note(name, m, is); by > 0 {
			all = append(all, value{name, unit, by})
		}
	}
	switch {
	case m.GetCounter() != nil:
		grown(name, "Count", m.GetCounter().GetValue())
	case m.GetHistogram() != nil:
		grown(name+"_count", "Count", float64(m.GetHistogram().GetSampleCount()))
		grown(name+"_sum", "Seconds", m.GetHistogram().GetSampleSum())
	case m.GetGauge() != nil:
		if is := m.GetGauge().GetValue(); w.note(name, m, is) != 0 {
			all = append(all, value{name, "None", is})
		}
	}
	return all
}

// note notes a value, and returns by how much it has changed.
func (w *Writer) note(name string, m *dto.Metric, is float64) (by float64) {
	key := name
	for _, l := range m.GetLabel() {
		key += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
	}
	by = is - w.last[key]
	w.last[key], w.seen[key] = is, true
	return by
}

// longestDimension is what CloudWatch takes of a dimension's value.
const longestDimension = 1024

// Sums are the labels of a metric by which an alarm asks for it, besides all of them. An alarm of CloudWatch
// names every dimension of a metric, and cannot add up metrics whose names it does not know: without these, "an
// action fails" would be an alarm for each function and action. Each set is one that AWS bills, for each
// combination of its values; so none has a node, a message or a policy.
var Sums = map[string][]string{
	"nodefence_actions_total":       {"outcome"},
	"nodefence_transitions_total":   {"to"},
	"nodefence_node_problems_total": {"reason"},
}

// line is a value with its labels, in the format that CloudWatch reads. Its sets of dimensions are the cluster
// alone, the cluster with the label of Sums, and the cluster with all labels. A dimension must have a value,
// so a label without one is left out.
func (w *Writer) line(f *dto.MetricFamily, m *dto.Metric, v value) map[string]any {
	line := map[string]any{"cluster": w.cluster, v.name: v.v}
	sets := [][]string{{"cluster"}}
	all := []string{"cluster"}
	for _, l := range m.GetLabel() {
		if text := l.GetValue(); text != "" {
			line[l.GetName()] = clip.To(longestDimension, text)
			all = append(all, l.GetName())
			if slices.Contains(Sums[f.GetName()], l.GetName()) {
				sets = append(sets, []string{"cluster", l.GetName()})
			}
		}
	}
	slices.Sort(all)
	if !slices.ContainsFunc(sets, func(s []string) bool { return slices.Equal(s, all) }) {
		sets = append(sets, all)
	}
	line["_aws"] = map[string]any{
		"Timestamp": w.now().UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": Namespace, "Dimensions": sets, "Metrics": []any{map[string]string{"Name": v.name, "Unit": v.unit}},
		}},
	}
	return line
}

package lambda

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/infra/aws"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestNobodyWatches: where no source ever ran, a fence fails, as no node is enrolled. Where the source has
// died, a fence is held. Of both an alarm of the stack is told by the very metric that it is on. The
// source runs as the account that cluster/source gives it.
func TestNobodyWatches(t *testing.T) {
	w := newWorld(t, 4)
	cloud := w.cloud()
	w.deploy(1)
	w.ticking()
	w.node("node-0", "crash")
	if f := w.phase("node-0", api.Failed); f.Status.Reason != api.BindingInvalid {
		t.Errorf("it failed for %s: %s", f.Status.Reason, f.Status.Message)
	}
	w.alarmed("FenceFailedAlarm")

	kill := w.sourceAs("system:serviceaccount:nodefence-system:nodefence-source")
	w.until("a node to be enrolled", func() (bool, error) {
		_, err := w.Kube.CoreV1().ConfigMaps("nodefence-system").Get(w.ctx, kube.EnrolledName("node-1"), metav1.GetOptions{})
		return err == nil, nil
	})
	w.until("the Leases to be watched", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		return err == nil && l.Status.Leases.ObservedAt != nil, err
	})
	kill()
	w.until("the picture of the Leases to be old", func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		return err == nil && w.Fences.Clock().Now().Sub(l.Status.Leases.ObservedAt.Time) > facts.Resync, err
	})
	w.node("node-1", "crash")
	w.alarmed("NobodyWatchesAlarm")
	if f := w.phase("node-1", api.Pending); f.Status.Reason != api.LeasePictureOld {
		t.Errorf("it is held for %s: %s", f.Status.Reason, f.Status.Message)
	}
	for _, node := range []string{"node-0", "node-1"} {
		if got := cloud.switches(node); got != "" {
			t.Errorf("EC2 was told %q of %s", got, node)
		}
	}
}

// metric is one of CloudWatch's, as an alarm names it.
type metric struct {
	Namespace, MetricName string
	Dimensions            []struct {
		Name  string
		Value any
	}
}

// alarmed waits until the functions' logs have a metric that an alarm of the stack is on.
func (w *world) alarmed(alarm string) {
	w.t.Helper()
	on := w.metrics(w.stack.Resources[alarm])
	w.until(alarm+" to be told", func() (bool, error) {
		for line := range strings.Lines(w.log.String()) {
			if !strings.HasPrefix(line, `{"_aws"`) {
				continue
			}
			var is map[string]any
			if err := json.Unmarshal([]byte(line), &is); err != nil {
				continue // the rest of the line is not written yet
			}
			for _, m := range on {
				if told(is, m) {
					return true, nil
				}
			}
		}
		return false, nil
	})
}

// told tells whether a line has the metric, with all dimensions that it is named by.
func told(line map[string]any, m map[string]string) bool {
	for name, want := range m {
		if is, has := line[name]; !has || want != "" && is != want {
			return false
		}
	}
	return true
}

// metrics are those that an alarm is on: the metric's own name, without a value, and its dimensions.
func (w *world) metrics(alarm aws.Resource) (all []map[string]string) {
	w.t.Helper()
	raw, err := json.Marshal(alarm.Properties)
	must(w.t, err)
	var a struct {
		metric
		Metrics []struct{ MetricStat struct{ Metric metric } }
	}
	must(w.t, json.Unmarshal(raw, &a))
	found := []metric{a.metric}
	for _, m := range a.Metrics {
		found = append(found, m.MetricStat.Metric)
	}
	for _, m := range found {
		if m.MetricName == "" {
			continue
		}
		by := map[string]string{m.MetricName: ""}
		for _, d := range m.Dimensions {
			by[d.Name] = fmt.Sprint(d.Value)
			if ref, is := d.Value.(map[string]any); is && ref["Ref"] == "ClusterName" {
				by[d.Name] = w.aws["NODEFENCE_CLUSTER"]
			}
		}
		all = append(all, by)
	}
	return all
}

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/deadletter"
	"github.com/nodefence/nodefence/functions/power"
	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
	"github.com/nodefence/nodefence/test/spans"
)

// observability has the alerts and the dashboard.
var observability = filepath.Join("..", "..", "infra", "observability")

// TestADashboardShowsIncidents: a real Prometheus scrapes nodefence, which fences a node, hears of
// problems, refuses a request, finds a power cut refuted, waits for a person and is held by a storm: two nodes of five are unhealthy,
// where one may be. Then each panel of the dashboard has data, each alert is understood, and the storm's is on its
// way.
func TestADashboardShowsIncidents(t *testing.T) {
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: apt-get install prometheus", program)
		}
	}
	w := newWorld(t, 5, strings.Replace(quick, "50%", "20%", 1))
	must(t, w.Apply(w.ctx, problems))
	must(t, w.Apply(w.ctx, rig.Policy("by-hand", "precedence: 1\nselector: {matchLabels: {kubernetes.io/hostname: node-4}}\n"+
		strings.Replace(quick, "recovery: {", "recovery: {uncordon: Manual, ", 1))))
	collector := httptest.NewServer(&spans.Receiver{})
	t.Cleanup(collector.Close)
	must(t, w.Lab.Fault("node-3", "wrong-password"))
	p := w.start(func(o *local.Options) {
		o.CheckEvery, o.Settings.Traces.Endpoint = 6*time.Second, collector.URL
	})
	server := httptest.NewServer(p.HTTP())
	t.Cleanup(server.Close)
	must(t, p.Watching(w.ctx))
	prometheus := w.scrape(server.Listener.Addr().String())

	w.node("node-1", "crash")
	for i := range 2 {
		w.report("node-2", "OOMKilling", fmt.Sprint("a", i))
	}
	w.requests(server.URL) // nobody believes it
	lost := event.New()
	lost.SetID("lost")
	lost.SetSource("/test")
	lost.SetType("io.nodefence.node.unhelthy.v1") // as a cluster's broker brings it
	_, err := p.Handlers()[deadletter.Name](w.ctx, lost)
	must(t, err)
	_, err = p.Handlers()[power.Name](w.ctx, lost) // by a wrong Trigger
	must(t, err)
	w.ended("node-1", api.Recovered)
	must(t, w.Ready(w.ctx, "node-1", corev1.ConditionTrue))
	must(t, w.Lab.Fault("node-0", "lie"))
	w.node("node-0", "partition") // it says off, and the boot ID refutes that
	w.phase("node-0", api.Recovering)
	w.node("node-0", "heal")
	w.ended("node-0", api.CutRefuted)
	must(t, w.Ready(w.ctx, "node-0", corev1.ConditionTrue))
	w.node("node-4", "crash") // which a person is to give back
	w.until("node-4 to wait for a person", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "node-4")
		return f != nil && f.Status.Reason == api.WaitingForUncordon, err
	})
	w.node("node-3", "crash") // whose BMC lets nobody in, so that it stays unhealthy
	w.unready("node-3")
	w.node("node-1", "crash")

	w.shows(prometheus)
	w.alerts(prometheus, "NodefenceStorm")
	checkMetrics(t, get(t, server.URL+"/metrics"))
}

// requests posts an event that asks for a fence of node-2, without a token.
func (w *world) requests(url string) {
	w.t.Helper()
	e := event.New()
	e.SetID("asks")
	e.SetSource("/test")
	e.SetType(events.RequestFence)
	e.SetSubject("node-2")
	e.SetTime(time.Now())
	body, err := json.Marshal(e)
	must(w.t, err)
	r, err := http.Post(url, event.ApplicationCloudEventsJSON, bytes.NewReader(body))
	must(w.t, err)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusAccepted {
		w.t.Fatal(r.Status)
	}
}

// scrape runs a Prometheus that scrapes the address each second until the test ends, and returns
// its own.
func (w *world) scrape(target string) (url string) {
	w.t.Helper()
	dir := w.t.TempDir()
	rules, err := filepath.Abs(filepath.Join(observability, "rules.yaml"))
	must(w.t, err)
	config := filepath.Join(dir, "prometheus.yaml")
	must(w.t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: nodefence
    static_configs: [{targets: [%q]}]
`, rules, target), 0o600))
	addr, err := port.Free()
	must(w.t, err)
	var log bytes.Buffer
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	cmd.Stdout, cmd.Stderr = &log, &log
	must(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Log(log.String())
		}
	})
	w.until("Prometheus to be ready", func() (bool, error) {
		r, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false, nil
		}
		_ = r.Body.Close()
		return r.StatusCode == http.StatusOK, nil
	})
	return "http://" + addr
}

// shows waits until every query of the dashboard has data.
func (w *world) shows(prometheus string) {
	w.t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile(filepath.Join(observability, "dashboard.json"))
	must(w.t, err)
	must(w.t, json.Unmarshal(text, &d))
	var without []string
	w.t.Cleanup(func() {
		if len(without) > 0 {
			w.t.Logf("without data:\n%s", strings.Join(without, "\n"))
		}
	})
	ctx, cancel := context.WithTimeout(w.ctx, 3*time.Minute) // so that it says what is without data
	defer cancel()
	must(w.t, rig.Until(ctx, "every panel to have data", func() (bool, error) {
		without = nil
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if n := w.query(prometheus, strings.NewReplacer("$__rate_interval", "1m", "$__range", "10m").Replace(q.Expr)); n == 0 {
					without = append(without, p.Title+": "+q.Expr)
				}
			}
		}
		return len(without) == 0, nil
	}))
	if len(d.Panels) < 15 {
		w.t.Errorf("%d panels: they are not found any more", len(d.Panels))
	}
}

// query is how many values a query has that are numbers.
func (w *world) query(prometheus, expr string) (n int) {
	w.t.Helper()
	var a struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	must(w.t, json.Unmarshal(get(w.t, prometheus+"/api/v1/query?query="+url.QueryEscape(expr)), &a))
	if a.Status != "success" {
		w.t.Fatalf("%s: %s", expr, a.Error)
	}
	for _, r := range a.Data.Result {
		if r.Value[1] != "NaN" {
			n++
		}
	}
	return n
}

var metricName = regexp.MustCompile(`\bnodefence_\w+`)

// alert is one as Prometheus evaluates it.
type alert struct{ Name, Query, Health, LastError, State string }

func (w *world) rules(prometheus string) (all []alert) {
	w.t.Helper()
	var a struct {
		Data struct{ Groups []struct{ Rules []alert } }
	}
	must(w.t, json.Unmarshal(get(w.t, prometheus+"/api/v1/rules"), &a))
	for _, g := range a.Data.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// alerts waits until this alert is pending or fires, and checks that Prometheus evaluates each,
// and that each metric in them has values.
func (w *world) alerts(prometheus, want string) {
	w.t.Helper()
	w.until("alert "+want, func() (bool, error) {
		return slices.ContainsFunc(w.rules(prometheus), func(a alert) bool { return a.Name == want && a.State != "inactive" }), nil
	})
	for _, r := range w.rules(prometheus) {
		if r.Health != "ok" {
			w.t.Errorf("alert %s is %s: %s", r.Name, r.Health, r.LastError)
		}
		for _, m := range metricName.FindAllString(r.Query, -1) {
			if w.query(prometheus, m) == 0 {
				w.t.Errorf("alert %s: %s has no value", r.Name, m)
			}
		}
	}
}

// checkMetrics has promtool look at what is scraped.
func checkMetrics(t *testing.T, metrics []byte) {
	t.Helper()
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = bytes.NewReader(metrics)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

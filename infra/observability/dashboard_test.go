package observability

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// panel is one of the dashboard.
type panel struct {
	Title, Type string
	Targets     []struct {
		Expr    string `json:"expr"`
		Format  string `json:"format"`
		Instant bool   `json:"instant"`
	}
}

func panels(t *testing.T) []panel {
	t.Helper()
	var d struct{ Panels []panel }
	must(t, json.Unmarshal([]byte(read(t, "dashboard.json")), &d))
	if len(d.Panels) < 10 {
		t.Fatalf("%d panels: they are not found any more", len(d.Panels))
	}
	return d.Panels
}

// plain is a query that a reader can try by reading it.
var plain = regexp.MustCompile(`^(sum|max)( by \([a-z, ]+\))? ?\(nodefence_[a-z_]+\)$`)

// TestThePanelsAreTried: dashboard_test.yaml has each query that is not plain.
func TestThePanelsAreTried(t *testing.T) {
	var file struct {
		Tests []struct {
			Tried []struct{ Expr string } `json:"promql_expr_test"`
		}
	}
	must(t, yaml.Unmarshal([]byte(read(t, "dashboard_test.yaml")), &file))
	tried := map[string]bool{}
	for _, c := range file.Tests {
		for _, q := range c.Tried {
			tried[q.Expr] = false
		}
	}
	of := strings.NewReplacer("$__range", "1h", "$__rate_interval", "5m")
	for _, p := range panels(t) {
		for _, q := range p.Targets {
			expr := of.Replace(q.Expr)
			if _, is := tried[expr]; is {
				tried[expr] = true
			} else if !plain.MatchString(expr) {
				t.Errorf("panel %s: dashboard_test.yaml does not try %s", p.Title, expr)
			}
		}
	}
	for expr, shown := range tried {
		if !shown {
			t.Errorf("no panel has %s", expr)
		}
	}
}

// counted is a query for the growth of a metric, and its span.
var counted = regexp.MustCompile(`(?:rate|increase)\((nodefence_\w+?)(?:_bucket|_count|_sum)?(?:\{[^}]*\})?\[([^\]]+)\]`)

// TestPanelsAskRightly: only a counter or a histogram grows; a graph is of its own interval and not of all the
// time shown, and a table is of one time.
func TestPanelsAskRightly(t *testing.T) {
	var grow []string
	for _, m := range metrics(t) {
		if m.kind != "gauge" {
			grow = append(grow, m.name)
		}
	}
	for _, p := range panels(t) {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s has no query", p.Title)
		}
		for _, q := range p.Targets {
			for _, m := range counted.FindAllStringSubmatch(q.Expr, -1) {
				if !slices.Contains(grow, m[1]) {
					t.Errorf("panel %s asks for the growth of gauge %s", p.Title, m[1])
				}
				if p.Type == "timeseries" && m[2] != "$__rate_interval" {
					t.Errorf("panel %s is a graph with growth over %s", p.Title, m[2])
				}
			}
			if strings.Contains(q.Expr, "vector(") {
				t.Errorf("panel %s shows a figure where there is no data: %s", p.Title, q.Expr)
			}
			if p.Type == "table" && (!q.Instant || q.Format != "table") {
				t.Errorf("panel %s is a table of all the time shown, and not of its end", p.Title)
			}
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/test/rig"
)

// policy fences a node that a test reports as broken, without a wait.
const policy = `
unhealthyConditions: [{type: DiskBroken, status: "True", duration: 0s}]
limits: {maxUnhealthy: "100%", maxConcurrent: 3}
drain: {timeout: 0s}
`

// TestFuncAnswersAsOurOwnProgramDoes: the program that Knative's func builds of this
// repository gives the same answers as bin/nodefence, except the answers that its server
// gives before a function is called; infra/knative/README.md lists those.
func TestFuncAnswersAsOurOwnProgramDoes(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	defer cancel()
	c := cluster(ctx, t)
	kubeconfig, link := through(t, c.Lab.Kubeconfig)

	bin, err := rig.Bin("nodefence")
	must(t, err)
	own := serve(ctx, t, bin, "/readyz", "KUBECONFIG="+kubeconfig, "NODE_NAME=none")
	f, env := build(t), append(deployed(t), "KUBECONFIG="+kubeconfig, "NODEFENCE_DIRECT=http://nodefence-{function}")
	fn := serve(ctx, t, f, "/health/readiness", env...)
	if status, body := get(t, fn.url+"/health/liveness"); status != http.StatusOK || body != "ALIVE" {
		t.Errorf("liveness: %d %s", status, body)
	}
	for _, words := range []string{"func runs no clock", "K_SINK is not set", "NODEFENCE_DIRECT is not used here"} {
		must(t, rig.Until(ctx, "its log to say "+words, func() (bool, error) { return strings.Contains(fn.log.String(), words), nil }))
	}

	watchLeases(ctx, t, c)
	must(t, c.SetCondition(ctx, "node-1", "DiskBroken", "True"))
	must(t, c.SetCondition(ctx, "node-2", "DiskBroken", "True"))
	t.Run("a known event with a reply", func(t *testing.T) {
		want := answer{
			Status: http.StatusOK, Type: "application/json",
			CE:   "ce-causationid=e1 ce-correlationid ce-dataschema ce-expirytime ce-fencenumber ce-id ce-partitionkey=NODE ce-reason ce-source ce-specversion=1.0 ce-subject=NODE ce-time ce-type=io.nodefence.fence.isolating.v1",
			Body: "due fence fenceNumber message node=NODE nodeUID phase=Isolating reason=Admitted",
		}
		check(t, want, post(t, own.url, unhealthy("node-1"), "").of("node-1"))
		check(t, want, post(t, fn.url, unhealthy("node-2"), "").of("node-2"))
	})
	ask(t, own, fn)
	t.Run("a wrong setting ends the process", func(t *testing.T) {
		cmd := exec.CommandContext(ctx, f)
		cmd.Env = append(env, "LISTEN_ADDRESS=127.0.0.1:0", "NODEFENCE_FUNCTION=powr")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "NODEFENCE_FUNCTION=powr: no such function") {
			t.Errorf("%v: %s", err, out)
		}
	})
	link.cut()
	t.Run("the API server is gone", func(t *testing.T) {
		for _, p := range []program{own, fn} {
			check(t, answer{Status: http.StatusServiceUnavailable, Body: "try again"}, post(t, p.url, unhealthy("node-0"), ""))
		}
		if status, _ := get(t, own.url+"/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("our own readiness: %d", status)
		}
		if status, body := get(t, fn.url+"/health/readiness"); status != http.StatusInternalServerError || !strings.Contains(body, "reach the API server") {
			t.Errorf("func's readiness: %d %s", status, body)
		}
	})
}

// ask puts every question to both.
func ask(t *testing.T, own, fn program) {
	for name, q := range questions {
		t.Run(name, func(t *testing.T) {
			check(t, q.want, post(t, own.url, q.header, q.body))
			if q.other != nil {
				q.want = *q.other
			}
			check(t, q.want, post(t, fn.url, q.header, q.body))
		})
	}
}

// watchLeases runs the source, and waits until it has watched for a whole renewal. Without its
// picture of the Leases the gate admits no fence. The source's events go nowhere.
func watchLeases(ctx context.Context, t *testing.T, c *rig.Cluster) {
	t.Helper()
	src, err := apiserver.New(apiserver.Options{
		Config: c.Config, Client: c.Fences, Sender: nowhere{}, Logger: slog.New(slog.DiscardHandler), Source: events.SourceOf("test"),
		Namespace: "nodefence-system", Identity: "test",
	})
	must(t, err)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = src.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	must(t, rig.Until(ctx, "a picture of the Leases", func() (bool, error) {
		l, err := c.Fences.Ledger(ctx)
		if err != nil {
			return false, err
		}
		p := l.Status.Leases
		return p.Total == 3 && p.ObservedAt.Sub(p.Since.Time) > p.Renewal.Duration, nil
	}))
}

type nowhere struct{}

func (nowhere) Send(context.Context, event.Event) error { return nil }

func unhealthy(node string) map[string]string {
	return map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.node.unhealthy.v1", "ce-id": "e1", "ce-source": "/test", "ce-subject": node}
}

// questions are asked of both; other is the answer of what func builds, where that differs.
var questions = map[string]struct {
	header map[string]string
	body   string
	want   answer
	other  *answer
}{
	"a type that nobody owns": {
		header: map[string]string{"ce-specversion": "1.0", "ce-type": "com.example.none.v1", "ce-id": "1", "ce-source": "/test", "ce-subject": "node-1", "ce-time": "2026-01-01T00:00:00Z"},
		want:   answer{Status: http.StatusAccepted},
	},
	"a type that is almost one of ours": {
		header: map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.request.fense.v1", "ce-id": "1", "ce-source": "/test", "ce-subject": "node-1"},
		want: answer{
			Status: http.StatusBadRequest,
			Body:   `malformed event: attribute type: nodefence has no type "io.nodefence.request.fense.v1": did you mean io.nodefence.request.fence.v1?`,
		},
	},
	"a clock's tick": {
		header: map[string]string{"ce-specversion": "1.0", "ce-type": events.Ping, "ce-id": "1", "ce-source": "/test"},
		want:   answer{Status: http.StatusAccepted},
	},
	"a node that does not exist": {header: unhealthy("node-99"), want: answer{Status: http.StatusAccepted}},
	"a node that is healthy":     {header: unhealthy("node-0"), want: answer{Status: http.StatusAccepted}},
	"an event about no node": {
		header: map[string]string{"ce-specversion": "1.0", "ce-type": "io.nodefence.node.unhealthy.v1", "ce-id": "1", "ce-source": "/test"},
		want:   answer{Status: http.StatusBadRequest, Body: "malformed event: attribute subject: missing, it must name the node"},
	},
	"an event without a type": {
		header: map[string]string{"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/test", "ce-subject": "node-1"},
		want:   answer{Status: http.StatusBadRequest, Body: "ce-type missing"},
		other:  &answer{Status: http.StatusBadRequest, Body: "type: MUST be a non-empty string"},
	},
	"a request that is no event": {
		header: map[string]string{"Content-Type": "application/json"}, body: "{}",
		want:  answer{Status: http.StatusBadRequest, Body: "ce-specversion missing"},
		other: &answer{Status: http.StatusUnsupportedMediaType},
	},
	"JSON that breaks off": {
		header: map[string]string{"Content-Type": "application/cloudevents+json"}, body: `{"specversion": "1.0", "ty`,
		want:  answer{Status: http.StatusBadRequest, Body: "body is not a JSON object"},
		other: &answer{Status: http.StatusInternalServerError},
	},
}

// answer is what a caller can see, in text that can be compared.
type answer struct {
	Status         int
	Type, CE, Body string
}

// of leaves out what belongs to one node and one moment.
func (a answer) of(node string) answer {
	given := func(k, v string) string {
		switch {
		case v == node:
			return k + "=NODE"
		case slices.Contains([]string{"ce-specversion", "ce-type", "ce-causationid", "phase", "reason"}, k):
			return k + "=" + v
		}
		return k
	}
	var ce, body []string
	for _, pair := range strings.Fields(a.CE) {
		k, v, _ := strings.Cut(pair, "=")
		ce = append(ce, given(k, v))
	}
	var data map[string]any
	_ = json.Unmarshal([]byte(a.Body), &data)
	for _, k := range slices.Sorted(maps.Keys(data)) {
		body = append(body, given(k, fmt.Sprint(data[k])))
	}
	a.CE, a.Body = strings.Join(ce, " "), strings.Join(body, " ")
	return a
}

func post(t *testing.T, url string, header map[string]string, body string) answer {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewBufferString(body))
	must(t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	r, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	must(t, err)
	a := answer{Status: r.StatusCode, Body: strings.TrimSpace(string(b))}
	var ce []string
	for k, v := range r.Header {
		if k = strings.ToLower(k); strings.HasPrefix(k, "ce-") {
			ce = append(ce, k+"="+v[0])
		}
	}
	if len(ce) > 0 {
		slices.Sort(ce)
		a.CE, a.Type = strings.Join(ce, " "), r.Header.Get("Content-Type")
	}
	return a
}

func check(t *testing.T, want, got answer) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

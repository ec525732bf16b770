package gate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/gate/checks"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// server answers from a table, and keeps what is written, with its body.
func server(t *testing.T, answers map[string]string) (*Gate, *[]string) {
	t.Helper()
	if answers != nil && answers[planePodsPath] == "" {
		answers[planePodsPath] = `{"items":[]}`
	}
	var written []string
	c := kubetest.Client(t, kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		written = append(written, r.Method+" "+r.URL.Path+" "+string(body))
		if answers[r.Method+" "+r.URL.Path] == held {
			kubetest.Refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
			return
		}
		kubetest.Answer(w, string(body))
	}))
	return &Gate{Client: c, Namespace: "own", Checks: "checks", NeighborsImage: "nodefence", Networks: checks.Networks{netip.MustParsePrefix("127.0.0.0/8")}, Log: slog.New(slog.DiscardHandler), Reporter: deaf{}, Loop: &loop.Loop{Now: c.Clock().Now}}, &written
}

// deaf is a witness that nobody asks here.
type deaf struct{ report.Reporter }

func (deaf) Refused(_ context.Context, _ report.Refusal)           {}
func (deaf) Merged(_ context.Context, _ report.Refusal)            {}
func (deaf) Remediated(_ context.Context, _ report.Remediation)    {}
func (deaf) Alerted(_ context.Context, _ report.Refusal, _ string) {}

// braked asks what a pause or a window in the policy as it stands now does to n0's fence.
func braked(t *testing.T, spec []byte) string {
	w := newWorld()
	w.look(t, spec)
	return w.decide(read[api.FencePolicySpec](t, spec))
}

// look sees the brakes as the policy p has them.
func (w *world) look(t *testing.T, spec []byte) {
	t.Helper()
	g, _ := server(t, map[string]string{
		policyPath: `{"items":[{"metadata":{"name":"p"},"spec":` + string(spec) + `}]}`,
		ledgerPath: `{"metadata":{"name":"cluster"}}`,
	})
	w.fence.Status.Decision.Policy.Name, w.fence.Status.Decision.Limits = "p", []api.ScopedLimits{{Policy: "p"}}
	if err := look.Brakes(t.Context(), g.Client.NewReader(0), &w.fence, &w.seen, false); err != nil {
		t.Fatal(err)
	}
	w.seen.Brakes.Stricter = false // what is asked of is another field
}

// worded asks what the record says while a brake in the policy holds n0's fence.
func worded(t *testing.T, spec []byte) string {
	w := newWorld()
	w.look(t, spec)
	w.decide(read[api.FencePolicySpec](t, spec))
	st, _ := fence.Decide(&w.fence, w.seen, w.now)
	return st.Message
}

// members asks whether n0, a control-plane node, may go while etcd's pods can't be seen.
func members(t *testing.T, spec []byte) string {
	w := newWorld()
	g, _ := server(t, map[string]string{planePodsPath: `{"items":[]}`})
	var nodes []corev1.Node
	for i := range w.cluster.Nodes {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.cluster.Nodes[i].Name}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		nodes = append(nodes, n)
	}
	p := read[api.FencePolicySpec](t, spec)
	w.cluster.Nodes[0].ControlPlane = true
	w.fence.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy([]api.FencePolicy{{Spec: p}}, "n0", nil)
	var err error
	if w.cluster.Etcd, w.cluster.EtcdFrom, err = look.Etcd(t.Context(), g.Client, &w.fence, nodes, nil); err != nil {
		t.Fatal(err)
	}
	return w.decide(p)
}

// checkRound asks what a round of checks of n0 asks, and hears.
func checkRound(storage bool) question {
	return func(t *testing.T, spec []byte) string {
		w := newWorld()
		p := read[api.FencePolicySpec](t, spec)
		w.fence.Status.Decision.ResolvedPolicy = api.ResolvedPolicy{Settings: api.Settings{ActivityChecks: policy.ActivitySettings(p.ActivityChecks), StorageCheck: policy.StorageSettings(p.StorageCheck)}}
		template := `{"template":{"spec":{"containers":[{"name":"c","image":"%s"}]}}}`
		g, written := server(t, map[string]string{
			"/api/v1/nodes": `{"items":[{"metadata":{"name":"n0","labels":{"` + zoneKey + `":"a","rack":"7"}},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}}]}`,
			"/api/v1/namespaces/checks/podtemplates/one": fmt.Sprintf(template, "one"),
			"/api/v1/namespaces/checks/podtemplates/two": fmt.Sprintf(template, "two"),
		})
		if storage {
			w.fence.Status.StorageCheck = &api.CheckRound{Number: 1, StartedAt: stamp(w.now), Since: stamp(w.now)}
		} else {
			w.fence.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: stamp(w.now), Since: stamp(w.now)}}
		}
		r, err := g.Act(t.Context(), &w.fence, fence.Check, w.seen)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v %s", r.Checked.Results, strings.Join(*written, "\n"))
	}
}

// listener answers as long as the tests run.
var listener = func() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}()

// attached asks what is released of a machine that is proven off, one pod of which
// has its volume attached.
func attached() question {
	return func(t *testing.T, spec []byte) string {
		w := newWorld()
		phase(api.Releasing)(w)
		provenOff(w)
		w.fence.Status.Decision.Settings.Release = read[api.FencePolicySpec](t, spec).Release.Settings()
		looks := w.fence
		looks.Status.Release.StartedAt = stamp(w.now) // then Look asks for no brakes
		g, _ := server(t, map[string]string{
			"/api/v1/nodes/n0":                                 `{"metadata":{"name":"n0","uid":"u0"}}`,
			"/api/v1/pods":                                     `{"items":[{"metadata":{"name":"web-0","namespace":"shop","uid":"web-0"},"spec":{"nodeName":"n0","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}}]}`,
			"/api/v1/persistentvolumes/pv-1":                   `{"metadata":{"name":"pv-1"},"spec":{"storageClassName":"quick"}}`,
			"/api/v1/namespaces/shop/persistentvolumeclaims/c": `{"metadata":{"name":"c"},"spec":{"volumeName":"pv-1"}}`,
			"/apis/storage.k8s.io/v1/volumeattachments":        `{"items":[{"metadata":{"name":"at-1","uid":"at-1"},"spec":{"nodeName":"n0","attacher":"x","source":{"persistentVolumeName":"pv-1"}}}]}`,
		})
		var seen observed.Look
		if err := (&cleanup.Cleaner{Client: g.Client, Log: g.Log, Reporter: g.Reporter}).Look(t.Context(), &looks, &seen, 0); err != nil {
			t.Fatal(err)
		}
		w.seen.Left = seen.Left
		return fmt.Sprintf("%s, detaches %v", w.decide(read[api.FencePolicySpec](t, spec)), seen.Left.Detach)
	}
}

// started asks what the loss of a node that was created half an hour ago, and never
// enrolled, opens.
var started = opens(policyPath, func(now time.Time) event.Event {
	return events.SourceOf("c").Condition(events.ConditionChange{Node: "a", NodeUID: "1", Condition: "Ready", Status: "Unknown", Unhealthy: true}, time.Time{}, now)
}, func(time.Time) []corev1.Event { return nil }, func(answers map[string]string) {
	answers["/api/v1/nodes/a"] = `{"metadata":{"name":"a","uid":"1","creationTimestamp":"` + time.Now().Add(-30*time.Minute).UTC().Format(time.RFC3339) +
		`"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`
})

package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions/gate/admit"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/policy"
)

const (
	budgetsPath   = "/apis/nodefence.io/v1alpha1/fencebudgets"
	planePodsPath = "/api/v1/namespaces/kube-system/pods"
)

// burst is many nodes that failed at once, with a fence each, the gate of one process, and an
// API server that takes writes of the ledger by compare-and-swap. It needs no network, so
// that all of it can be in one bubble.
type burst struct {
	gate   *Gate
	fences []api.NodeFence
	// before is called ahead of each request: somebody else's chance.
	before func(*http.Request)
	// serves answers what burst does not know; false for everything else.
	serves func(*httptest.ResponseRecorder, *http.Request) bool

	mu      sync.Mutex
	ledger  api.FenceLedger
	answers map[string]string
	// writes and conflicts are of the ledger; most is how many were reserved at a time.
	writes, conflicts, most int
	said                    []string
	// saved is the fence whose status was written last.
	saved *api.NodeFence
}

// nameOf is of the i-th node. Two and two of their fences were opened in the same moment.
func nameOf(i int) string { return fmt.Sprintf("n%02d", i) }

func newBurst(t *testing.T, failed, maxConcurrent int) *burst {
	t.Helper()
	now := time.Now()
	all := intstr.FromString("100%")
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{
		Selector: &api.LabelSelector{}, Mode: api.ModeEnforce,
		Limits: api.Limits{MaxUnhealthy: &all, MaxConcurrent: new(int32(maxConcurrent))},
	}}
	b := &burst{ledger: api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, ResourceVersion: "1"}}}
	b.ledger.Status.Leases = api.LeasePicture{Since: stamp(now.Add(-time.Hour)), ObservedAt: stamp(now), Total: int32(2 * failed)}
	var nodes corev1.NodeList
	for i := range 2 * failed {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nameOf(i)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if i < failed {
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
			f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID("f-" + n.Name)}, Spec: api.NodeFenceSpec{NodeName: n.Name}}
			f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Pending, OpenedAt: stamp(now.Add(time.Duration(i/2) * time.Millisecond))}
			f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy([]api.FencePolicy{p}, n.Name, nil)
			b.fences = append(b.fences, f)
		}
		nodes.Items = append(nodes.Items, n)
	}
	b.answers = map[string]string{
		"/api/v1/nodes": textOf(t, nodes), policyPath: textOf(t, api.FencePolicyList{Items: []api.FencePolicy{p}}),
		fencesPath: textOf(t, api.NodeFenceList{Items: b.fences}), budgetsPath: `{"items":[]}`, planePodsPath: `{"items":[]}`,
	}
	client, err := kube.New(&rest.Config{Host: "http://burst", Transport: b})
	if err != nil {
		t.Fatal(err)
	}
	b.gate = &Gate{Client: client, Queue: &admit.Queue{}, Log: slog.New(slog.DiscardHandler)}
	return b
}

func textOf(t *testing.T, obj any) string {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// ask has the i-th fence ask for a slot, as a delivery of its own.
func (b *burst) ask(ctx context.Context, i int) {
	go func() {
		r, err := b.gate.Act(ctx, &b.fences[i], fence.Reserve, observed.Look{})
		b.mu.Lock()
		b.said = append(b.said, verdictOf(r.Verdict, err))
		b.mu.Unlock()
	}()
}

// told counts the answers.
func (b *burst) told() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for _, s := range b.said {
		n[s]++
	}
	return n
}

// reserved are the nodes whose slots are on the ledger, in the order of their reservation.
func (b *burst) reserved() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.ledger.Status.Admitted {
		all = append(all, r.NodeName)
	}
	if len(all) != len(b.ledger.Status.Reservations) {
		all = append(all, "and others")
	}
	return all
}

// another process writes the ledger.
func (b *burst) another(write func(*api.FenceLedger)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger.Status.Leases.ObservedAt = stamp(time.Now())
	write(&b.ledger)
	b.newer()
}

func (b *burst) newer() {
	rv, _ := strconv.Atoi(b.ledger.ResourceVersion)
	b.ledger.ResourceVersion = strconv.Itoa(rv + 1)
	b.most = max(b.most, len(b.ledger.Status.Reservations))
}

// take has another process reserve for the i-th fence.
func (b *burst) take(i int) {
	b.another(func(l *api.FenceLedger) {
		r := api.Reservation{NodeName: nameOf(i), FenceUID: b.fences[i].UID, FenceNumber: 1, At: *stamp(time.Now())}
		l.Status.Reservations = append(l.Status.Reservations, r)
	})
}

// stop has a person write the stop switch, or the ledger at least.
func (b *burst) stop(why string) {
	b.another(func(l *api.FenceLedger) { l.Spec.Stop, l.Spec.StopReason = why != "", why })
}

func (b *burst) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.before != nil {
		b.before(r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := httptest.NewRecorder()
	switch {
	case b.serves != nil && b.serves(w, r):
	case r.Method == http.MethodPut && r.URL.Path == ledgerPath+"/status":
		b.swap(w, r)
	case r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, fencesPath+"/"):
		b.saved = &api.NodeFence{}
		if err := json.NewDecoder(r.Body).Decode(b.saved); err != nil {
			return nil, err
		}
		kubetest.Answer(w, b.saved)
	case r.URL.Path == planePodsPath && r.URL.Query().Get("labelSelector") == "component=etcd":
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.Method == http.MethodGet && r.URL.Path == ledgerPath:
		kubetest.Answer(w, b.ledger)
	default:
		kubetest.Table(b.answers, nil)(w, r)
	}
	w.Header()["Date"] = nil // one clock, from the first request on
	return w.Result(), nil
}

// swap is the compare-and-swap.
func (b *burst) swap(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var l api.FenceLedger
	if json.Unmarshal(raw, &l) != nil || l.ResourceVersion != b.ledger.ResourceVersion {
		b.conflicts++
		kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	b.writes++
	b.ledger.Status = l.Status
	b.ledger.Status.Reservations = slices.Clone(l.Status.Reservations)
	b.newer()
	kubetest.Answer(w, b.ledger)
}

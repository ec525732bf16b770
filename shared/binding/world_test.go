package binding

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/readiness"
)

// world is a cluster in which everything that binds nodes to devices may change.
type world struct {
	// agents is where agents are installed; none are if it is empty.
	agents  string
	t       *testing.T
	client  *kube.Client
	elapsed time.Duration
	rv      int
	maps    map[string]*corev1.ConfigMap
	nodes   map[string]*corev1.Node
	targets map[string]*api.FenceTarget
	configs *api.ConfigsSeen
	// turns have the versions of enrolments, as the source gives them; lists counts the
	// lists of ConfigMaps, and requests are all by path.
	turns    []api.NodeTurn
	lists    int
	requests []string
	// kept is what the resolver keeps of the ConfigMaps; nothing if it is nil.
	kept *Lists
}

func newWorld(t *testing.T, maps ...corev1.ConfigMap) *world {
	t.Helper()
	w := &world{t: t, maps: map[string]*corev1.ConfigMap{}, nodes: map[string]*corev1.Node{}, targets: map[string]*api.FenceTarget{}}
	client, err := kube.NewAt(&rest.Config{Host: "http://world", Transport: w}, func() time.Duration { return w.elapsed })
	if err != nil {
		t.Fatal(err)
	}
	w.client = client
	for _, cm := range maps {
		w.put(cm)
	}
	return w
}

// RoundTrip answers without a network.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.requests = append(w.requests, r.Method+" "+r.URL.Path)
	part := strings.Split(r.URL.Path, "/")
	name := part[len(part)-1]
	var found any
	switch dir := strings.TrimSuffix(r.URL.Path, name); {
	case r.URL.Path == "/api/v1/namespaces/ns/configmaps":
		w.lists++
		l := corev1.ConfigMapList{}
		for _, name := range sorted(w.maps) {
			l.Items = append(l.Items, *w.maps[name])
		}
		found = l
	case strings.HasSuffix(dir, "/configmaps/") && w.maps[name] != nil:
		found = w.maps[name]
	case strings.HasSuffix(dir, "/nodes/") && w.nodes[name] != nil:
		found = w.nodes[name]
	case strings.HasSuffix(dir, "/fencetargets/") && w.targets[name] != nil:
		found = w.targets[name]
	case strings.HasSuffix(dir, "/fenceledgers/"):
		found = w.ledger()
	}
	if found == nil {
		kubetest.Refuse(rec, http.StatusNotFound, metav1.StatusReasonNotFound)
	} else {
		kubetest.Answer(rec, found)
	}
	return rec.Result(), nil
}

func (w *world) ledger() *api.FenceLedger {
	return &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster", ResourceVersion: "1"}, Status: api.FenceLedgerStatus{Configs: w.configs, Checks: w.turns}}
}

func sorted[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// put writes a ConfigMap.
func (w *world) put(cm corev1.ConfigMap) {
	w.rv++
	cm.Namespace, cm.ResourceVersion, cm.UID = "ns", fmt.Sprint(w.rv), types.UID(fmt.Sprint("uid-", w.rv))
	if was := w.maps[cm.Name]; was != nil {
		cm.UID = was.UID
	}
	w.maps[cm.Name] = &cm
}

// seen is the source: it writes what it sees into the ledger.
func (w *world) seen() {
	w.elapsed += 2 * time.Second // what this process read of the ledger is too old
	var all []corev1.ConfigMap
	w.turns = nil
	for _, name := range sorted(w.maps) {
		all = append(all, *w.maps[name])
		if node, ok := strings.CutPrefix(name, kube.EnrolledName("")); ok {
			w.turns = append(w.turns, api.NodeTurn{NodeName: node, Enrolment: w.maps[name].ResourceVersion})
		}
	}
	w.configs = &api.ConfigsSeen{Version: version.Of(pointers(all)), ObservedAt: metav1.NewMicroTime(w.client.Clock().Now())}
}

func (w *world) resolver() Resolver {
	return Resolver{Client: w.client, Namespace: "ns", Drivers: Drivers, AgentsDir: cmp.Or(w.agents, "testdata/none"), JobImages: []string{"image"}, Lists: w.kept}
}

// check resolves a node's devices for its FenceTarget, as readiness does.
func (w *world) check(name string) string {
	n := w.nodes[name]
	t := w.targets[name]
	if t == nil || t.Status.NodeUID != n.UID {
		t = &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.FenceTargetStatus{NodeUID: n.UID}}
	}
	r, err := w.resolver().Devices(w.t.Context(), readiness.Asked{Node: n, Target: t, Ledger: w.ledger()})
	t = t.DeepCopy()
	t.Status.Binding = r.Binding
	w.targets[name] = t
	return said(r.Devices, nil, err)
}

// bind is what a fence gets.
func (w *world) bind(name string) string {
	n := w.nodes[name]
	if n == nil {
		n = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	b, err := w.resolver().Bind(w.t.Context(), n)
	if b == nil {
		return said(nil, nil, err)
	}
	p := &api.ResolvedPolicy{Settings: api.Settings{UnhealthyConditions: []api.ConditionSetting{{Type: "Ready"}}}}
	b.Over(p)
	return said(b.Devices, p, err)
}

// without is what a fence gets of the ConfigMaps alone.
func (w *world) without(do func() string) string {
	was, kept := w.targets, w.kept
	w.targets, w.kept = map[string]*api.FenceTarget{}, nil
	defer func() { w.targets, w.kept = was, kept }()
	return do()
}

// some is one of them.
func some[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

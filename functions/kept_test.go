package functions

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/power"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/kube"
)

const mapsPath = "/api/v1/namespaces/ns/configmaps/"

// keptWorld is a cluster with node a, its device, and a source that tells what it sees.
type keptWorld struct {
	*checked
	parts    Parts
	requests []string
}

func newKeptWorld(t *testing.T) *keptWorld {
	t.Helper()
	w := &keptWorld{checked: newChecked(t)}
	w.parts = Parts{
		Settings: Settings{Namespace: "ns"}, Client: w.client, Reporter: w.checked, Source: events.SourceOf("c"),
		Drivers: map[string]device.Kind{"mem": mem.NewRack(time.Now).Kind()},
	}
	w.put(mapsPath+kube.EnrolledName("a"), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: kube.EnrolledName("a"), UID: "e", Labels: map[string]string{kube.EnrolledLabel: "true"}},
		Data:       map[string]string{"node_name": "a", "node_uid": "uid-a", "system_uuid": machineA},
	})
	w.before = func(r *http.Request) {
		if !strings.Contains(r.URL.Path, "/fenceledgers/") {
			w.requests = append(w.requests, r.Method+" "+strings.NewReplacer(ourKinds, "", "/api/v1/namespaces/ns/", "", "/api/v1/", "").Replace(r.URL.Path))
		}
	}
	return w
}

// configure writes the node's own ConfigMap.
func (w *keptWorld) configure(method string) {
	w.put(mapsPath+"fence-config-node-a", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fence-config-node-a", UID: "m"},
		Data:       map[string]string{"config.properties": "node_name=a\npower_management=m", "fence-method-m": method},
	})
}

// tell is what the source writes into the ledger; later is after a turn.
func (w *keptWorld) tell(t *testing.T, later time.Duration) {
	t.Helper()
	all, err := w.client.ConfigMaps(t.Context(), "ns")
	if err != nil {
		t.Fatal(err)
	}
	now := w.client.Clock().Now()
	turn := api.NodeTurn{NodeName: "a", Until: metav1.NewMicroTime(now.Add(api.CheckTurn + later).UTC()), Enrolment: w.version(mapsPath + kube.EnrolledName("a"))}
	w.put(ourKinds+"fenceledgers/cluster", &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: api.FenceLedgerStatus{
		Checks: []api.NodeTurn{turn}, Configs: &api.ConfigsSeen{Version: version.Of(func(yield func(*corev1.ConfigMap) bool) {
			for i := range all {
				if !yield(&all[i]) {
					return
				}
			}
		}), ObservedAt: metav1.NewMicroTime(now.UTC())},
	}})
	w.requests = nil
}

// checks makes a check, and returns its requests besides those of the ledger.
func (w *keptWorld) checks(t *testing.T) []string {
	t.Helper()
	now := time.Now()
	if _, err := w.parts.checker(power.Name).Handle(t.Context(), "a", events.SourceOf("c").Check("a", "uid-a", now, now, now)); err != nil {
		t.Fatal(err)
	}
	return w.requests
}

// machineA is the machine of node a, by which a device in memory names it.
const machineA = "00112233-4455-6677-8899-aabbccddeeff"

// TestWhatAFreshBindingCosts: neither a check nor a fence lists the ConfigMaps, and a check
// that reads no device makes three requests.
func TestWhatAFreshBindingCosts(t *testing.T) {
	w := newKeptWorld(t)
	w.configure("agent_name=mem\nname=" + machineA)
	w.tell(t, 0)
	first := []string{"GET nodes/a", "GET fencetargets/a", "GET configmaps", "POST fencetargets", "PATCH fencetargets/a/status", "GET nodefences/a", "PATCH fencetargets/a/status"}
	again := []string{"GET nodes/a", "GET fencetargets/a", "PATCH fencetargets/a/status", "GET nodefences/a", "PATCH fencetargets/a/status"}
	if d := cmp.Diff(first, w.checks(t)); d != "" {
		t.Errorf("the first check: %s", d)
	}
	w.tell(t, time.Minute)
	if d := cmp.Diff(again, w.checks(t)); d != "" {
		t.Errorf("a check that reads the device: %s", d)
	}
	w.tell(t, 2*time.Minute)
	w.configure("nonsense")
	w.tell(t, 2*time.Minute)
	if got := w.checks(t); len(got) != 4 || w.target(t) != "False BindingInvalid:" {
		t.Errorf("a refusal: %s, %v", w.target(t), got)
	}
	w.tell(t, 3*time.Minute)
	if got := w.checks(t); len(got) != 3 || w.target(t) != "False BindingInvalid:" {
		t.Errorf("a refusal that was kept: %s, %v", w.target(t), got)
	}
	w.configure("agent_name=mem\nname=" + machineA)
	w.tell(t, 4*time.Minute)
	w.checks(t)
	w.tell(t, 4*time.Minute)
	b, err := w.parts.resolver().Bind(t.Context(), healthy("a"))
	if err != nil || b.Devices[0].Address != machineA || !b.Devices[0].Tells || len(w.requests) != 2 || slices.Contains(w.requests, "GET configmaps") {
		t.Errorf("a fence: %+v, %v, %v", b, err, w.requests)
	}
}

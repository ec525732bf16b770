package e2e

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const incidentPolicy = `
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "100%", maxConcurrent: 6, stormCoolDown: 1s, perDomain: {topologyKey: topology.kubernetes.io/zone, maxUnhealthy: "40%", maxConcurrent: 2}}
`

// TestIncidents: what happens to a data centre of thirty machines in three zones, one
// incident after the other, and which machines are touched because of it. Node i is in zone
// i%3.
func TestIncidents(t *testing.T) {
	w := newWorld(t, 30, incidentPolicy, "--zones", "3")
	w.start(nil)
	from := w.database(3)
	t.Run("a node dies", func(t *testing.T) {
		w := w.in(t)
		w.node(from, "crash")
		w.moved("db-0", from)
		w.phase(from, api.Finished)
		w.words(from, "off on")
	})
	t.Run("a rack dies", func(t *testing.T) { // S14
		w := w.in(t)
		rack := w.untouched(2, 3)
		w.allAtOnce(rack, "crash")
		for _, n := range rack {
			w.phase(n, api.Finished)
			w.words(n, "off on")
		}
		w.atMost(2, rack)
	})
	t.Run("a zone loses its power, a node elsewhere dies", func(t *testing.T) { // S15
		w := w.in(t)
		var zone []string
		for i := 1; i < 30; i += 3 {
			zone = append(zone, node(i))
		}
		before := w.told(zone)
		w.allAtOnce(zone, "power-loss")
		for _, n := range zone {
			w.held(n, api.TooManyUnhealthy)
		}
		other := w.untouched(0, 1)[0]
		w.node(other, "crash")
		w.phase(other, api.Finished)
		w.words(other, "off on")
		w.allAtOnce(zone, "power-on")
		w.healed(zone, before)
	})
	t.Run("a switch cuts off six of ten machines, which live", func(t *testing.T) { // S16
		w := w.in(t)
		var cut []string
		for i := range 18 {
			cut = append(cut, node(i))
		}
		before := w.told(cut)
		w.allAtOnce(cut, "partition")
		for _, n := range cut {
			w.until(n+" to be held", func() (bool, error) {
				f, err := w.Fences.Fence(w.ctx, n)
				return f != nil && f.Status.Phase == api.Pending && (f.Status.Reason == api.MostLeasesStale || f.Status.Reason == api.TooManyUnhealthy), err
			})
		}
		w.allAtOnce(cut, "heal")
		w.healed(cut, before)
	})
	t.Run("a person upgrades a node", func(t *testing.T) { // S22
		w := w.in(t)
		n := w.untouched(0, 1)[0]
		w.patch(n, `{"spec":{"unschedulable":true,"taints":[{"key":"medik8s.io/drain","effect":"NoSchedule"}]}}`)
		w.node(n, "power-loss")
		w.held(n, api.Excluded)
		w.node(n, "power-on")
		w.healed([]string{n}, map[string]string{n: ""})
		now, err := w.Kube.CoreV1().Nodes().Get(w.ctx, n, metav1.GetOptions{})
		must(t, err)
		if !now.Spec.Unschedulable || len(now.Spec.Taints) == 0 {
			t.Errorf("the person's marks are gone: unschedulable=%v, taints %v", now.Spec.Unschedulable, now.Spec.Taints)
		}
	})
	w.oneWriter()
}

// in is the world for a part of a test.
func (w *world) in(t *testing.T) *world {
	part := *w
	part.t = t
	return &part
}

// untouched are this many nodes of a zone that got no command yet and run nothing of the
// database.
func (w *world) untouched(zone, n int) []string {
	w.t.Helper()
	pods, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{})
	must(w.t, err)
	busy := map[string]bool{}
	for _, p := range pods.Items {
		busy[p.Spec.NodeName] = true
	}
	var all []string
	for i := zone; i < 30 && len(all) < n; i += 3 {
		told, err := w.Lab.Words(node(i))
		must(w.t, err)
		if told == "" && !busy[node(i)] {
			all = append(all, node(i))
		}
	}
	if len(all) < n {
		w.t.Fatalf("zone %d has %d untouched nodes left, %d are wanted", zone, len(all), n)
	}
	return all
}

// told has the commands that each node's BMC got so far.
func (w *world) told(nodes []string) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, n := range nodes {
		words, err := w.Lab.Words(n)
		must(w.t, err)
		all[n] = words
	}
	return all
}

// healed waits until no fence of these is open and they are Ready, and checks that their BMCs got
// no command meanwhile.
func (w *world) healed(nodes []string, before map[string]string) {
	w.t.Helper()
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			if err := w.Ready(w.ctx, n, corev1.ConditionTrue); err != nil {
				w.t.Error(err)
				return
			}
			f, err := w.Phase(w.ctx, n, api.Finished)
			if err != nil {
				w.t.Error(err)
			} else if f.Status.Outcome != api.HealedBeforeFence {
				w.t.Errorf("%s ended as %s\n%s", n, f.Status.Outcome, rig.Story(f))
			}
		})
	}
	wg.Wait()
	for _, n := range nodes {
		w.words(n, before[n])
	}
}

func (w *world) patch(node, with string) {
	w.t.Helper()
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.StrategicMergePatchType, []byte(with), metav1.PatchOptions{})
	must(w.t, err)
}

package story

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// cluster is ten nodes in two zones, of which the story's is the first, and the
// ledger, on which the gate's own step is taken.
type cluster struct {
	// down are the nodes that are not Ready beside the story's own; still are those
	// whose Leases stand still, the story's own included.
	down, still map[int]bool
	etcd        map[string]bool
	ledger      api.FenceLedger
	// since is when the source began to watch; behind is how long its picture lags.
	since  time.Time
	behind time.Duration
}

const zone = "topology.kubernetes.io/zone"

// among puts the node into a cluster, under a limit of four in ten.
func among(w *world, change ...func(*cluster, *api.ScopedLimits)) *cluster {
	c := &cluster{down: map[int]bool{}, still: map[int]bool{}, since: start.Add(-time.Hour)}
	l := api.ScopedLimits{Policy: "default", MaxUnhealthy: intstr.FromString("40%"), MaxConcurrent: 1, StormCoolDown: metav1.Duration{Duration: 20 * time.Second}}
	for _, do := range change {
		do(c, &l)
	}
	w.cluster = c
	w.record.Status.Decision.Limits = []api.ScopedLimits{l}
	return c
}

// zoned has the limit hold in each zone, and none over all.
func zoned(_ *cluster, l *api.ScopedLimits) {
	l.PerDomain = &api.ResolvedDomain{TopologyKey: zone, MaxUnhealthy: l.MaxUnhealthy, MaxConcurrent: 1}
	l.MaxUnhealthy = intstr.FromString("100%")
}

func (c *cluster) set(m map[int]bool, on bool, nodes ...int) {
	for _, n := range nodes {
		m[n] = on
	}
}

func (w *world) labels(i int) map[string]string {
	return map[string]string{zone: []string{"a", "b"}[i/5]}
}

// seenBy is the cluster as the API server has it.
func (c *cluster) seenBy(w *world) admission.Picture {
	s := admission.Picture{Fences: []api.NodeFence{w.record}, Etcd: c.etcd}
	for i := range 10 {
		n := admission.Node{Name: fmt.Sprintf("node-%d", 7+i), Labels: w.labels(i), Unhealthy: c.down[i]}
		if _, n.ControlPlane = c.etcd[n.Name]; i == 0 {
			n.Unhealthy = w.ready != "True"
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// picture is what the source last wrote of the Leases.
func (c *cluster) picture(now time.Time) {
	at, since := metav1.NewMicroTime(now.Add(-c.behind)), metav1.NewMicroTime(c.since)
	p := api.LeasePicture{ObservedAt: &at, Since: &since, Total: 10, Renewal: metav1.Duration{Duration: 10 * time.Second}}
	for i, still := range c.still {
		if still {
			p.Still = append(p.Still, api.StillLease{NodeName: fmt.Sprintf("node-%d", 7+i), Stale: true})
		}
	}
	c.ledger.Status.Leases = p
}

// lookAround adds what is around the node.
func (w *world) lookAround(seen *observed.Look) {
	c := w.cluster
	if c == nil {
		return
	}
	seen.Node.ControlPlane = c.etcd != nil
	seen.Reserved = admission.ReservedAt(&c.ledger, &w.record)
	if why, message := admission.Stopped(&c.ledger); why != "" {
		seen.Brakes.Stopped, seen.Brakes.Why, seen.Brakes.Message = true, why, message
	}
	if why := admission.Storming(&w.record, w.labels(0), &c.ledger); why != "" {
		seen.Brakes.Storm, seen.Brakes.Message = true, why
	}
}

// reserve is the gate's step on the ledger; a nil verdict is a slot.
func (w *world) reserve() *observed.Verdict {
	c := w.cluster
	c.picture(w.now)
	return admission.Admit(&w.record, c.seenBy(w), &c.ledger, w.now)
}

// waits lets a condition count only when it has held for so long.
func waits(w *world, d time.Duration) {
	w.record.Status.Decision.Settings.UnhealthyConditions[0].Duration = metav1.Duration{Duration: d}
}

// remove deletes the Node object, and with it all that was on it.
func (w *world) remove() {
	w.gone, w.taint, w.cordon, w.oos = true, false, false, false
	w.say("           the Node object is gone")
}

// removedAt deletes the Node object then, and Kubernetes what ran there 45 s later.
func removedAt(w *world, when time.Duration) {
	at(w, when, w.remove)
	at(w, when+45*time.Second, func() {
		if w.left > 0 {
			w.left = 0
			w.say("           pod GC deletes the pod, and its volume is detached")
		}
	})
}

// restored takes everything but the machine back to what it was then, once its work
// has moved, and one of nodefence's processes has seen that it went back.
func restored(w *world, to time.Duration) *cluster {
	w.crashed = true
	return restoredAt(w, to, 13500*time.Millisecond)
}

func restoredAt(w *world, to, when time.Duration) *cluster {
	c := among(w)
	var old api.NodeFence
	var ledger api.FenceLedger
	var of [2]int
	at(w, to, func() { old, ledger, of = *w.record.DeepCopy(), *c.ledger.DeepCopy(), [2]int{w.boot, w.beats} })
	at(w, when, func() {
		w.record, c.ledger, w.taint, w.oos, w.left = old, ledger, false, false, 2
		w.of = &of
		w.ready, w.readySince = "Unknown", start
		w.say("           everything is as it was at the beginning, but the machine")
		c.ledger.Status.Restored = &api.Restored{SeenAt: metav1.NewMicroTime(w.now), From: "1000", To: "600"}
		w.wake(0, "due")
	})
	return c
}

// wide are the stories in which more than one machine, or somebody else, has a part.
var wide = map[string]incident{
	"a rack of five loses its power, and three are back": {func(w *world) {
		c := among(w)
		w.on = false
		c.set(c.down, true, 1, 2, 3, 4)
		at(w, 40*time.Second, func() { c.set(c.down, false, 1, 2, 3); w.say("           three nodes are back") })
	}, []api.Phase{api.Fenced}, 0},
	"a zone is lost, and a node of another": {func(w *world) {
		c := among(w, zoned)
		w.crashed = true
		c.set(c.down, true, 5, 6, 7, 8, 9)
	}, []api.Phase{api.Finished}, 1},
	"the zone of the node is lost": {func(w *world) {
		c := among(w, zoned)
		w.on = false
		c.set(c.down, true, 1, 2, 3, 4)
		at(w, 60*time.Second, func() {
			c.set(c.down, false, 1, 2, 3, 4)
			w.say("           the zone is back")
			w.powerOn()
		})
	}, []api.Phase{api.Finished}, 0},
	"a switch cuts six of ten off, which live": {func(w *world) { // S16
		c := among(w, func(_ *cluster, l *api.ScopedLimits) { l.MaxUnhealthy = intstr.FromString("100%") })
		w.cut = true
		c.set(c.still, true, 0, 1, 2, 3, 4, 5)
		at(w, 2*time.Minute, func() {
			w.cut = false
			c.still = map[int]bool{}
			w.say("           the switch is back")
			w.wake(0, "node.healthy")
		})
	}, []api.Phase{api.Finished}, 0},
	"the API server restarts": {func(w *world) {
		c := among(w)
		w.crashed = true
		at(w, 3*time.Second, func() { w.mute = true; w.say("           the API server is gone") })
		at(w, 43*time.Second, func() {
			w.mute, c.since = false, w.now
			w.say("           the API server is back; the source begins to watch anew")
		})
	}, []api.Phase{api.Finished}, 1},
	// S16: somebody has seen a higher resourceVersion of the ledger, so nothing new
	// starts on what was restored until a person says so. The machine does not forget
	// what was done to it: it is looked at, and proven off anew, before anything is
	// released again. With that person's word a record from between Off and proof cuts
	// a machine that is on again once more; without it, never.
	"the API server is restored from an older backup": {func(w *world) {
		c := restored(w, 15*time.Millisecond)
		at(w, 2*time.Minute, func() {
			c.ledger.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "anna", SeenAt: c.ledger.Status.Restored.SeenAt}
			w.say("           anna confirms the restore")
		})
	}, []api.Phase{api.Fenced, api.Finished}, 2},
	"the API server is restored, and nobody confirms": {func(w *world) {
		restored(w, 15*time.Millisecond)
	}, []api.Phase{api.Pending, api.Fencing, api.Fenced, api.Finished}, 1},
	"the API server is restored to between Off and proof": {func(w *world) { // S25
		restored(w, 35*time.Millisecond)
	}, []api.Phase{api.Pending, api.Fencing, api.Fenced, api.Finished}, 1},
	// What she said then is not so now, and nothing can be read: it is not released by it.
	"the API server is restored to where a person has confirmed": {func(w *world) { // S16
		w.on, w.bmc, w.goes = false, "dead", true
		w.record.Status.Decision.Settings.Release.Timeout = metav1.Duration{Duration: 10 * time.Minute}
		at(w, 60*time.Second, func() { w.record.Spec.Requests.ConfirmOff = &api.Confirmation{Request: *ask(w)}; w.wake(0, "asked") })
		restoredAt(w, 65500*time.Millisecond, 5*time.Minute)
		at(w, 2*time.Minute, func() { w.powerOn(); w.say("           somebody switches it on") })
		at(w, 4*time.Minute, func() { w.cut = true; w.say("           its network is cut") })
	}, []api.Phase{api.Pending, api.Fencing, api.Releasing, api.Fenced, api.Failed, api.Finished}, 0},
	"the source begins to watch anew": {func(w *world) { // S15
		c := among(w)
		w.crashed, c.since = true, start
	}, []api.Phase{api.Finished}, 1},
	"the picture of the Leases lags ten minutes": {func(w *world) { // S15, S30
		c := among(w)
		w.crashed, c.behind = true, 10*time.Minute
		at(w, 2*time.Minute, func() { c.behind = 0; w.say("           the picture is of now again") })
	}, []api.Phase{api.Finished}, 1},
	"conditions dated ten minutes ahead": {func(w *world) { // S30
		waits(w, 30*time.Second)
		w.crashed, w.readySince = true, start.Add(10*time.Minute)
	}, []api.Phase{api.Finished}, 1},
	"conditions dated ten minutes back": {func(w *world) { // S30
		waits(w, 30*time.Second)
		w.cut, w.readySince = true, start.Add(-10*time.Minute)
		at(w, 20*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a node flaps": {func(w *world) {
		waits(w, 20*time.Second)
		w.goes, w.cut = true, true
		for i := range 3 {
			spell := time.Duration(i) * time.Minute
			at(w, spell+10*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
			at(w, spell+time.Minute, func() {
				if w.record.Status.Phase == api.Finished {
					w.record.Status = fence.Opening(&w.record, w.record.Status.Decision, w.now)
					w.finalizer = true
				}
				w.cut, w.ready, w.readySince = true, "Unknown", w.now
				w.say("           it is gone again")
				w.wake(0, "node.unhealthy")
			})
		}
		at(w, 3*time.Minute+10*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a person cordons, drains and reboots": {func(w *world) {
		waits(w, time.Minute)
		w.hers, w.left, w.crashed = true, 0, true
		at(w, 40*time.Second, func() { w.crashed, w.boot = false, 1; w.say("           it has rebooted"); w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a person cordons and drains, and the reboot hangs": {func(w *world) { // S22: her cordon stays
		waits(w, time.Minute)
		w.hers, w.left, w.crashed = true, 0, true
	}, []api.Phase{api.Finished}, 1},
	"cluster-autoscaler is about to delete the node": {func(w *world) {
		w.crashed, w.going = true, "cluster-autoscaler is about to delete this node (taint ToBeDeletedByClusterAutoscaler)"
		at(w, time.Minute, w.remove)
	}, []api.Phase{api.Finished}, 0},
	"Karpenter deletes the node while it is fenced": {func(w *world) {
		w.crashed = true
		at(w, 5*time.Second, func() { w.going = "Karpenter is about to delete this node (taint karpenter.sh/disrupted)" })
		at(w, 14*time.Second, w.remove)
	}, []api.Phase{api.Finished}, 1},
	"a member of etcd dies, and the others are well": {func(w *world) { // S13
		among(w, func(c *cluster, _ *api.ScopedLimits) {
			c.etcd = map[string]bool{"node-7": false, "node-8": true, "node-9": true}
		})
		w.record.Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum
		w.crashed = true
	}, []api.Phase{api.Finished}, 1},
	"a member of etcd dies, and another is down": {func(w *world) { // S13
		c := among(w, func(c *cluster, _ *api.ScopedLimits) {
			c.etcd = map[string]bool{"node-7": false, "node-8": false, "node-9": true}
			c.down[1] = true
		})
		w.record.Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum
		w.crashed = true
		at(w, time.Minute, func() {
			c.etcd["node-8"], c.down[1] = true, false
			w.say("           the other member is back")
		})
	}, []api.Phase{api.Finished}, 1},
}

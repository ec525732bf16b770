package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

const (
	// silence is how long a node that is dead at the start has been so.
	silence = 60 * time.Second
	// renewal is the kubelet's time between two renewals of its Lease.
	renewal = 10 * time.Second
)

// machine is one node's, as it really is.
type machine struct {
	on bool
	// hung: powered, and silent until its power is cut.
	hung bool
	// since is when it was last heard of.
	since time.Duration
	boots int
}

// world is everything outside the processes.
type world struct {
	store
	now      time.Duration
	machines map[string]machine
	// queue holds the events that are on their way, sorted.
	queue []delivery
	watch watch
}

// clone is a world of its own.
func (w *world) clone() *world {
	c := *w
	c.store = w.store.clone()
	c.machines = make(map[string]machine, len(w.machines))
	for n, m := range w.machines {
		c.machines[n] = m
	}
	c.queue = slices.Clone(w.queue)
	c.watch = w.watch.clone()
	return &c
}

// newWorld has these nodes, of which the first die a minute before it begins.
func newWorld(names []string, dead int, rules []api.FencePolicy) *world {
	w := &world{store: store{objects: map[string]*object{}}, machines: map[string]machine{}, watch: newWatch()}
	for _, p := range rules {
		w.put(policies+p.Name, decode(encode(p)))
	}
	w.put(theLedger, fields{"metadata": fields{"name": "cluster", "uid": "uid-ledger"}})
	for i, n := range names {
		w.put(nodes+n, decode(encode(corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n, UID: types.UID("uid-" + n), Labels: map[string]string{"name": n}},
		})))
		w.put(attachments+"volume-"+n, decode(encode(storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "volume-" + n}, Spec: storagev1.VolumeAttachmentSpec{NodeName: n},
		})))
		w.machines[n] = machine{on: true}
		w.beat(n)
		if i < dead {
			w.machines[n] = machine{on: true, hung: true, since: -silence}
			w.lose(n)
		}
	}
	w.observe()
	w.notice()
	return w
}

// die hangs a machine; its node is not Ready from now on.
func (w *world) die(n string) {
	m := w.machines[n]
	m.hung, m.since = true, w.now
	w.machines[n] = m
	w.lose(n)
}

// heal ends a hang by itself.
func (w *world) heal(n string) {
	m := w.machines[n]
	m.hung = false
	w.machines[n] = m
	w.beat(n)
}

// lose is what the node lifecycle controller does: Ready becomes Unknown.
func (w *world) lose(n string) { w.ready(n, corev1.ConditionUnknown, w.machines[n].since) }

// beat is what a living kubelet does: Lease and Ready.
func (w *world) beat(n string) {
	m := w.machines[n]
	m.since = w.now
	w.machines[n] = m
	seconds, at := int32(4*renewal/time.Second), metav1.NewMicroTime(epoch.Add(w.now))
	w.put(leases+n, decode(encode(coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: n},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &at},
	})))
	w.ready(n, corev1.ConditionTrue, w.now)
}

func (w *world) ready(n string, s corev1.ConditionStatus, at time.Duration) {
	var o corev1.Node
	must(json.Unmarshal(w.objects[nodes+n].raw, &o))
	boot := fmt.Sprint("boot-", w.machines[n].boots)
	if c := o.Status.Conditions; len(c) == 1 && c[0].Status == s && o.Status.NodeInfo.BootID == boot {
		return
	}
	o.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: s, LastTransitionTime: metav1.NewTime(epoch.Add(at)),
	}}
	if s == corev1.ConditionTrue {
		o.Status.NodeInfo.BootID = boot
	}
	w.put(nodes+n, decode(encode(o)))
}

// pass lets time pass until then, and everybody outside do what they do.
func (w *world) pass(to time.Duration) {
	w.now = to
	for n, m := range w.machines {
		if m.on && !m.hung {
			w.beat(n)
		} else {
			w.lose(n)
		}
	}
	w.detach()
	w.observe()
}

// detach is the attach-detach controller: volumes leave a node that is out of service.
func (w *world) detach() {
	for n := range w.machines {
		if w.objects[attachments+"volume-"+n] != nil && strings.Contains(string(w.objects[nodes+n].raw), api.OutOfServiceTaint) {
			w.remove(attachments + "volume-" + n)
		}
	}
}

// observe is the source's picture of the Leases; sources/apiserver draws the real one.
func (w *world) observe() {
	p := api.LeasePicture{
		Since: stamp(-silence), ObservedAt: stamp(w.now), Renewal: metav1.Duration{Duration: renewal}, Total: int32(len(w.machines)),
	}
	for n, m := range w.machines {
		if still := w.now - m.since; still >= renewal+renewal/5 {
			p.Still = append(p.Still, api.StillLease{Node: n, Since: *stamp(m.since), Stale: still >= 2*renewal})
		}
	}
	slices.SortFunc(p.Still, func(a, b api.StillLease) int { return strings.Compare(a.Node, b.Node) })
	r := request{method: http.MethodPatch, path: theLedger, body: encode(fields{"status": fields{"leases": p}})}
	if w.objects[theLedger] != nil {
		w.serve(r)
	}
}

// notice is the source's other part: it sends the events of fences that are due
// and of unhealthy nodes that have none.
func (w *world) notice() {
	for _, n := range w.names() {
		f := w.fence(n)
		switch {
		case f != nil && f.Open():
			if due := f.Status.NextCheck; due == nil || due.Time.Before(epoch.Add(w.now+time.Second)) {
				w.send(delivery{events.OfPhase(f.CurrentPhase()), n})
			}
		case !w.machines[n].on || w.machines[n].hung:
			w.send(delivery{events.NodeUnhealthy, n})
		}
	}
}

// due is when the source next has something to do.
func (w *world) due() time.Duration {
	next := w.now + fence.Resync
	for n := range w.machines {
		if f := w.fence(n); f != nil && f.Open() && f.Status.NextCheck != nil {
			next = min(next, f.Status.NextCheck.Sub(epoch).Truncate(time.Second))
		}
	}
	return max(next, w.now+time.Second)
}

func (w *world) send(d delivery) {
	if d.typ == "" || d.owner() == "" {
		return
	}
	i, _ := slices.BinarySearchFunc(w.queue, d, compare)
	w.queue = slices.Insert(w.queue, i, d)
}

func compare(a, b delivery) int {
	if c := strings.Compare(a.node, b.node); c != 0 {
		return c
	}
	return strings.Compare(a.typ, b.typ)
}

// exec answers one call, and lets the watch see what it did.
func (w *world) exec(r request) answer {
	var a answer
	if n, ok := strings.CutPrefix(r.path, machineRoom); ok {
		a = w.device(n, r)
	} else {
		a = w.serve(r)
	}
	a.date, a.got = w.now, w.now
	w.watch.saw(w, r)
	return a
}

// device is the management controller of a machine: honest, at once.
func (w *world) device(n string, r request) answer {
	m := w.machines[n]
	if r.method == http.MethodGet {
		if m.on {
			return answer{body: []byte("On")}
		}
		return answer{body: []byte("Off")}
	}
	switch on := string(r.body) == "On"; {
	case on && !m.on:
		m.on, m.hung, m.boots = true, false, m.boots+1
	case !on:
		m.on = false
	}
	w.machines[n] = m
	return answer{}
}

func (w *world) clock() time.Duration { return w.now }

func (w *world) names() []string {
	all := make([]string, 0, len(w.machines))
	for n := range w.machines {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// fence is a node's record; nil if it has none.
func (w *world) fence(n string) *api.NodeFence { return read[api.NodeFence](w, fences+n) }

func (w *world) ledger() *api.FenceLedger { return read[api.FenceLedger](w, theLedger) }

func read[T any](w *world, path string) *T {
	o := w.objects[path]
	if o == nil {
		return nil
	}
	if o.typed == nil {
		v := new(T)
		must(json.Unmarshal(o.raw, v))
		o.typed = v
	}
	return o.typed.(*T)
}

func stamp(at time.Duration) *api.Time {
	m := metav1.NewMicroTime(epoch.Add(at))
	return &m
}

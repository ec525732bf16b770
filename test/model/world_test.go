package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/look"
)

const (
	// silence is how long a node that is dead at the start has been dead.
	silence = 60 * time.Second
	// renewal is the kubelet's time between two renewals of its Lease.
	renewal = 10 * time.Second
	// never is past the end of every schedule.
	never = 24 * time.Hour
)

// machine is one node's, as it really is.
type machine struct {
	node string
	on   bool
	// hung: powered, and silent until its power is cut.
	hung bool
	// since is when it last showed a sign of life.
	since time.Duration
	boots int
	// died: it was dead at some time. offs counts the times that its power was cut.
	died bool
	offs int
	// cut: its power was cut by a fence that is not released yet.
	cut bool
	// invoked counts the functions' invocations about it.
	invoked int
}

// dead: it is silent.
func (m machine) dead() bool { return !m.on || m.hung }

// world is everything outside the processes.
type world struct {
	store
	now      time.Duration
	machines []machine
	// queue holds the events that are on their way, sorted.
	queue []delivery
	// memory is what the pod of a broken gate remembers.
	memory string
	watch  watch
	// counts: two sources write censuses. views are what they have seen of it. hangs: the first sees
	// nothing now, and writes none; else it does with each picture of the Leases.
	counts, hangs bool
	views         [2]view
	// byCensus and byLists are how many slots were reserved by what a gate had read.
	byCensus, byLists int
}

// view is what one source has seen.
type view struct {
	store
	at time.Duration
}

// clone is a world of its own.
func (w *world) clone() *world {
	c := *w
	c.store = w.store.clone()
	c.machines, c.queue = slices.Clone(w.machines), slices.Clone(w.queue)
	return &c
}

// newWorld has so many nodes, of which some die at the same moment, a minute
// before it begins.
func newWorld(total, dead int, policy api.FencePolicy, census bool) *world {
	w := &world{store: store{ready: map[written]kept{}}, counts: census}
	w.watch.room = int(*policy.Spec.Limits.MaxConcurrent)
	quorum := *policy.Spec.ControlPlane.Fence == api.WithQuorum
	if quorum {
		w.watch.room = 1 // S13: one at a time, whatever the limits say
	}
	w.put(policies+policy.Name, decode(encode(policy)))
	w.put(theLedger, fields{"metadata": fields{"name": "cluster", "uid": "uid-ledger"}})
	for i := range total {
		n := string(rune('a' + i))
		w.put(nodes+n, decode(encode(corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n, UID: types.UID("uid-" + n)},
		})))
		w.put(attachments+"volume-"+n, decode(encode(storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "volume-" + n}, Spec: storagev1.VolumeAttachmentSpec{NodeName: n},
		})))
		if quorum {
			w.plane(n)
		}
		w.machines = append(w.machines, machine{node: n, on: true})
		m := w.machine(n)
		w.beat(m)
		if i < dead {
			m.hung, m.died, m.since = true, true, -silence
			w.ready(m, corev1.ConditionUnknown, m.since)
		}
	}
	w.observe()
	w.notice()
	return w
}

// plane makes a node one of the control plane, which runs a member of etcd.
func (w *world) plane(n string) {
	o := *read[corev1.Node](w, nodes+n)
	o.Labels = map[string]string{api.ControlPlaneLabel: ""}
	w.put(nodes+n, decode(encode(o)))
	w.put(etcds+"etcd-"+n, decode(encode(corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + n, Namespace: "kube-system"}, Spec: corev1.PodSpec{NodeName: n},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})))
}

func (w *world) machine(node string) *machine { return &w.machines[node[0]-'a'] }

// heal ends a hang by itself.
func (w *world) heal(node string) {
	if m := w.machine(node); m.on && m.hung {
		m.hung = false
		w.beat(m)
	}
}

// beat is what a living kubelet does: Lease and Ready.
func (w *world) beat(m *machine) {
	m.since = w.now
	seconds, at := int32(4*renewal/time.Second), metav1.NewMicroTime(epoch.Add(w.now))
	w.put(leases+m.node, decode(encode(coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: m.node},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &at},
	})))
	w.ready(m, corev1.ConditionTrue, w.now)
}

// ready is what the kubelet and the node lifecycle controller say of a node.
func (w *world) ready(m *machine, s corev1.ConditionStatus, at time.Duration) {
	o := *read[corev1.Node](w, nodes+m.node)
	boot := fmt.Sprint("boot-", m.boots)
	if c := o.Status.Conditions; len(c) == 1 && c[0].Status == s && o.Status.NodeInfo.BootID == boot {
		return
	}
	o.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: s, LastTransitionTime: metav1.NewTime(epoch.Add(at)),
	}}
	if s == corev1.ConditionTrue {
		o.Status.NodeInfo.BootID = boot
	}
	w.put(nodes+m.node, decode(encode(o)))
}

// pass lets time pass until then, and everybody outside do what they do.
func (w *world) pass(to time.Duration) {
	w.now = to
	for i := range w.machines {
		if m := &w.machines[i]; m.dead() {
			w.ready(m, corev1.ConditionUnknown, m.since)
		} else {
			w.beat(m)
		}
	}
	w.detach()
	w.observe()
}

// detach is the attach-detach controller: volumes leave a node that is out of service.
func (w *world) detach() {
	for _, m := range w.machines {
		if n := w.at(nodes + m.node); n != nil && strings.Contains(string(n.raw), api.OutOfServiceTaint) {
			w.remove(attachments + "volume-" + m.node)
		}
	}
}

// observe is the source's picture of the Leases; sources/apiserver/leases draws the real one.
func (w *world) observe() {
	p := api.LeasePicture{
		Since: stamp(-silence), ObservedAt: stamp(w.now), Renewal: metav1.Duration{Duration: renewal}, Total: int32(len(w.machines)),
	}
	for _, m := range w.machines {
		if still := w.now - m.since; still >= renewal+renewal/5 {
			p.Still = append(p.Still, api.StillLease{NodeName: m.node, Since: *stamp(m.since), Stale: still >= 2*renewal})
		}
	}
	w.serve(request{method: http.MethodPatch, path: theLedger + "/status", body: encode(fields{"status": fields{"leases": p}})}.signed())
	if w.counts && !w.hangs {
		w.see(0)
		w.census(0)
	}
}

// lose takes the census out of the ledger, as a source does whose write is a conflict again and again.
func (w *world) lose() {
	w.serve(request{method: http.MethodPatch, path: theLedger + "/status", body: encode(fields{"status": fields{"census": nil}})}.signed())
}

// see is that a source's watches have come as far as now.
func (w *world) see(i int) { w.views[i] = view{w.store.clone(), w.now} }

// census is a source's census, by what it has seen; one whose watches were silent for too
// long writes none.
func (w *world) census(i int) {
	v := &w.views[i]
	if w.now-v.at > admission.CensusLag {
		return
	}
	c := admission.Watched{Source: strconv.Itoa(i), Leases: w.ledger().Status.Leases}
	for _, o := range v.objects {
		switch {
		case strings.HasPrefix(o.path, nodes):
			c.Nodes = append(c.Nodes, look.ClusterNodes([]corev1.Node{*read[corev1.Node](&world{store: v.store}, o.path)})...)
		case strings.HasPrefix(o.path, fences):
			f := read[api.NodeFence](&world{store: v.store}, o.path)
			if c.Fences = append(c.Fences, f); !f.Open() {
				c.Closed = append(c.Closed, admission.CountedFence(f))
			}
		case strings.HasPrefix(o.path, policies):
			c.Policies = append(c.Policies, *read[api.FencePolicy](&world{store: v.store}, o.path))
		}
	}
	drawn := decode(encode(admission.TakeCensus(c, epoch.Add(w.now))))
	for _, list := range []string{"alike", "nodes", "fences"} {
		if drawn[list] == nil {
			drawn[list] = nil // a merge patch leaves what it does not name
		}
	}
	w.serve(request{method: http.MethodPatch, path: theLedger + "/status", body: encode(fields{"status": fields{"census": drawn}})}.signed())
}

// notice is the source's other part: it sends the events of fences that are due, and of unhealthy
// nodes without a fence.
func (w *world) notice() {
	for _, m := range w.machines {
		f := w.fence(m.node)
		switch {
		case f != nil && f.Open():
			if due := f.Status.NextLook; due == nil || due.Time.Before(epoch.Add(w.now+time.Second)) {
				w.send(delivery{events.OfPhase(f.CurrentPhase()), m.node})
			}
		case m.dead():
			w.send(delivery{events.NodeUnhealthy, m.node})
		}
		if o := w.asked(m.node); o != nil && !ask.Ended(o) {
			w.send(delivery{events.FenceRequestChanged, m.node})
		}
	}
}

// due is when the source next has something to do.
func (w *world) due() time.Duration {
	next := w.now + facts.Resync
	for _, m := range w.machines {
		if f := w.fence(m.node); f != nil && f.Open() && f.Status.NextLook != nil {
			next = min(next, f.Status.NextLook.Sub(epoch).Truncate(time.Second))
		}
	}
	return max(next, w.now+time.Second)
}

func (w *world) send(d delivery) {
	if d.owner() == "" {
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
	node, device := strings.CutPrefix(r.path, machineRoom)
	var a answer
	var was *api.NodeFence
	if !device && r.writes() {
		was = w.fence(nodeOf(r.path))
	}
	switch {
	case device:
		a = w.device(w.machine(node), r)
	case strings.HasPrefix(r.path, connections): // a device lets everybody connect
	case r.path == memory:
		a = w.remember(r)
	default:
		a = w.serve(r)
	}
	a.date, a.got = w.now, w.now
	if r.writes() && !device {
		w.watch.wrote(w, r, was)
	}
	return a
}

// nodeOf is the node that a record's path is about; empty for other paths.
func nodeOf(path string) string {
	n, ok := strings.CutPrefix(path, fences)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(n, "/status")
}

// device is the management controller of a machine: honest, at once.
func (w *world) device(m *machine, r request) answer {
	w.watch.called(w, m, r)
	switch {
	case r.method == http.MethodGet && m.on:
		return answerOf(http.StatusOK, []byte("On"))
	case r.method == http.MethodGet:
		return answerOf(http.StatusOK, []byte("Off"))
	case string(r.body) == "Off":
		m.on = false
	case !m.on:
		m.on, m.hung, m.boots = true, false, m.boots+1
	}
	return answer{}
}

// remember is the memory of one pod, in which broken gates keep what must be in
// the ledger: taken by the first, given back by name.
func (w *world) remember(r request) answer {
	name := string(r.body)
	switch {
	case r.method == http.MethodDelete && w.memory == name:
		w.memory = ""
	case r.method == http.MethodPut && w.memory == "":
		w.memory = name
	}
	return answerOf(http.StatusOK, []byte(w.memory))
}

// fence is a node's record; nil if it has none.
func (w *world) fence(n string) *api.NodeFence { return read[api.NodeFence](w, fences+n) }

func (w *world) ledger() *api.FenceLedger { return read[api.FenceLedger](w, theLedger) }

func read[T any](w *world, path string) *T {
	o := w.at(path)
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

package judge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/judge"
)

// start is the first second of each made history.
var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

const bmcAddress = "127.0.0.1:6230"

// made is a history in the making. Times are seconds after start.
type made struct {
	t   *testing.T
	now float64
	// version is the last resourceVersion.
	version uint64
	fence   api.NodeFence
	ledger  api.FenceLedger
	policy  api.FencePolicy
	node    corev1.Node
	lines   []string
	bmc     []string
	writers []string
	// since is when the writer on each machine began.
	since map[string]string
	lies  []judge.Declared
	// domain is the zone by which slots count too.
	domain string
}

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func stamp(seconds float64) *api.Time { return &api.Time{Time: at(seconds)} }

// newMade has one node, a policy with room for one fence, and an empty ledger.
func newMade(t *testing.T) *made {
	m := &made{t: t, version: 100, since: map[string]string{}}
	m.node = corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "node-uid"}}
	m.policy = api.FencePolicy{TypeMeta: metav1.TypeMeta{Kind: "FencePolicy"}, ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	one := int32(1)
	m.policy.Spec = api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, Limits: api.Limits{MaxConcurrent: &one}}
	m.ledger = api.FenceLedger{TypeMeta: metav1.TypeMeta{Kind: "FenceLedger"}, ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	m.fence = newFence("n1", 1)
	m.write("person", "fencepolicies", &m.policy)
	m.write("person", "fenceledgers", &m.ledger)
	m.write("person", "nodes", &m.node)
	return m
}

func newFence(node string, number int64) api.NodeFence {
	f := api.NodeFence{TypeMeta: metav1.TypeMeta{Kind: "NodeFence"}, ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("fence-" + node)}}
	f.Spec.NodeName = node
	f.Status.FenceNumber, f.Status.Phase, f.Status.OpenedAt = number, api.Pending, stamp(0)
	f.Status.Decision.NodeUID = "node-uid"
	f.Status.Decision.Policy.Name = "all"
	f.Status.Decision.Limits = []api.ScopedLimits{{Policy: "all", MaxUnhealthy: intstr.FromInt32(1), MaxConcurrent: 1}}
	f.Status.Decision.Devices = api.Named(api.Binding{Driver: "ipmi", Address: bmcAddress})
	return f
}

// after passes time.
func (m *made) after(seconds float64) *made {
	m.now += seconds
	return m
}

// write adds a write by a function of nodefence, or by a person, of an object as it is now.
func (m *made) write(by, resource string, object metav1.Object) {
	m.version++
	object.SetResourceVersion(fmt.Sprint(m.version))
	m.log("update", by, resource, object.GetNamespace(), object.GetName(), object, object)
}

func (m *made) log(verb, by, resource, namespace, name string, request, answer any) {
	m.t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	agent := "nodefence/" + by
	if by == "person" || by == "kubelet" {
		agent = by
	}
	line, err := json.Marshal(map[string]any{
		"kind": "Event", "stage": "ResponseComplete", "verb": verb, "user": map[string]string{"username": by}, "userAgent": agent,
		"objectRef":      map[string]string{"resource": resource, "subresource": sub, "namespace": namespace, "name": name},
		"responseStatus": map[string]int{"code": 200}, "requestObject": request, "responseObject": answer,
		"requestReceivedTimestamp": at(m.now), "stageTimestamp": at(m.now + 0.001),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.lines = append(m.lines, string(line))
	m.now += 0.01
}

// save writes the fence.
func (m *made) save(by string) { m.write(by, "nodefences/status", &m.fence) }

// told adds a command to the BMC.
func (m *made) told(command, says string) {
	m.bmc = append(m.bmc, fmt.Sprintf(`{"controller":"n1","address":%q,"time":%q,"command":%q,"accepted":true,"says":%q}`, bmcAddress, at(m.now).Format(time.RFC3339Nano), command, says))
	m.now += 0.01
}

// renew renews the node's Lease.
func (m *made) renew() {
	m.log("update", "kubelet", "leases", corev1.NamespaceNodeLease, "n1", map[string]any{"kind": "Lease", "spec": map[string]any{"renewTime": at(m.now).Format("2006-01-02T15:04:05.000000Z07:00")}}, nil)
}

// writer starts or stops a writer of volume v.
func (m *made) writer(event, machine string) {
	to := "null"
	if event == "start" {
		m.since[machine] = at(m.now).Format(time.RFC3339Nano)
	} else {
		to = fmt.Sprintf("%q", at(m.now).Format(time.RFC3339Nano))
	}
	m.writers = append(m.writers, fmt.Sprintf(`{"event":%q,"volume":"v","machine":%q,"node":%q,"pod":"default/db-0","from":%q,"to":%s}`, event, machine, machine, m.since[machine], to))
}

// reserve adds a slot for the fence to the ledger.
func (m *made) reserve(f *api.NodeFence) {
	by := []api.CountedBy{{Policy: "all"}}
	if m.domain != "" {
		by = append(by, api.CountedBy{Policy: "all", TopologyKey: "zone", Domain: m.domain})
	}
	m.ledger.Status.Reservations = append(m.ledger.Status.Reservations, api.Reservation{
		NodeName: f.Name, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: *stamp(m.now), CountedBy: by,
	})
	m.write("gate", "fenceledgers/status", &m.ledger)
}

// claim saves the claim of a call.
func (m *made) claim(call api.Call) {
	m.fence.Status.Claim = &api.Claim{Holder: fmt.Sprint("power-", m.version), Call: call, Device: "power-1", At: *stamp(m.now), NotAfter: *stamp(m.now + 20)}
	m.save("power")
}

// endClaim saves that the call has ended.
func (m *made) endClaim() {
	m.fence.Status.Claim = nil
	m.save("power")
}

// isolate begins a fence: slot, taint, and phase Fencing.
func (m *made) isolate() {
	m.save("gate")
	m.reserve(&m.fence)
	m.fence.Status.Phase = api.Isolating
	m.save("gate")
	m.node.Spec.Taints = []corev1.Taint{{Key: api.IsolationTaint, Value: string(m.fence.UID), Effect: corev1.TaintEffectNoSchedule}}
	m.write("isolate", "nodes", &m.node)
	m.fence.Status.Phase = api.Fencing
	m.save("isolate")
}

// off claims an Off, sends it, and saves that it has ended.
func (m *made) off() {
	m.claim(api.CallOff)
	m.told("off", "")
	m.fence.Status.Power.SwitchedByUs, m.fence.Status.Power.OffCalls = true, 1
	m.endClaim()
}

// read reads the BMC, which says off.
func (m *made) read() api.Read {
	r := api.Read{State: api.PoweredOff, At: *stamp(m.now)}
	m.told("status", "off")
	return r
}

// prove saves a proof of these reads.
func (m *made) prove(reads ...api.Read) {
	m.fence.Status.Proof = &api.Proof{
		Type: api.ProofSeenOff, FenceUID: m.fence.UID, FenceNumber: m.fence.Status.FenceNumber, NodeUID: "node-uid", BootIDBefore: "boot-1",
		Device: "power-1", Reads: reads, At: reads[len(reads)-1].At,
	}
	m.fence.Status.Phase = api.Releasing
	m.save("power")
}

// proveOff reads off twice, and saves the proof.
func (m *made) proveOff() {
	first := m.read()
	m.after(5)
	m.prove(first, m.read())
}

// cutNode begins a fence, and sends an Off.
func (m *made) cutNode() {
	m.isolate()
	m.off()
}

// proveNodeOff cuts the node, and proves the machine off a second later.
func (m *made) proveNodeOff() {
	m.cutNode()
	m.after(1).proveOff()
}

// batch saves that a batch of the release begins.
func (m *made) batch() {
	m.fence.Status.Release.StartedAt, m.fence.Status.Release.NotAfter = stamp(m.now), stamp(m.now+10)
	m.fence.Status.Release.Batches++
	m.save("cleanup")
}

// deletePod force-deletes a pod of the node, by its UID.
func (m *made) deletePod() {
	uid := types.UID("pod-uid")
	m.deleteBy(&metav1.Preconditions{UID: &uid})
}

func (m *made) deleteBy(preconditions *metav1.Preconditions) {
	zero := int64(0)
	pod := corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default", UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	m.log("delete", "cleanup", "pods", "default", "db-0", metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: preconditions}, pod)
}

// deletePods force-deletes the pods of a namespace in one request, of which one is on the node.
func (m *made) deletePods() {
	zero := int64(0)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "default", UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	m.log("deletecollection", "cleanup", "pods", "default", "", metav1.DeleteOptions{GracePeriodSeconds: &zero}, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList"}, Items: []corev1.Pod{pod}})
}

// placeOutOfService places Kubernetes' out-of-service taint.
func (m *made) placeOutOfService() {
	m.node.Spec.Taints = append(m.node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute})
	m.write("cleanup", "nodes", &m.node)
}

// recover takes the taint off, and ends the fence.
func (m *made) recover() {
	m.node.Spec.Taints = nil
	m.write("recover", "nodes", &m.node)
	m.end()
}

// end ends the fence.
func (m *made) end() {
	m.fence.Status.Phase, m.fence.Status.Proof = api.Finished, nil
	m.save("recover")
	m.ledger.Status.Reservations = nil
	m.write("gate", "fenceledgers/status", &m.ledger)
}

// judge returns the verdict.
func (m *made) judge() *judge.Verdict {
	m.t.Helper()
	h := &judge.History{Declared: m.lies}
	m.readInto(h)
	return judge.Judge(h)
}

// readInto reads the logs.
func (m *made) readInto(h *judge.History) {
	m.t.Helper()
	text := func(lines []string) *strings.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }
	for _, err := range []error{h.ReadAudit("audit", text(m.lines)), h.ReadBMCs("bmc", text(m.bmc)), h.ReadWriters("writers", text(m.writers))} {
		if err != nil && !strings.Contains(err.Error(), ":1: unexpected end of JSON input") {
			m.t.Fatal(err)
		}
	}
}

// whole is a fence from its slot to its end, which keeps every promise.
func whole(m *made) {
	m.isolate()
	m.off()
	m.after(1).proveOff()
	m.batch()
	m.deletePod()
	m.recover()
}

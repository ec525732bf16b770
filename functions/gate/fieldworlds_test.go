package gate

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

const zoneKey = "topology.kubernetes.io/zone"

// world is ten nodes in two zones, n0 of which is lost: its record is pending, and
// everything that the gate wants is there.
type world struct {
	now     time.Time
	others  []api.FencePolicy
	fence   api.NodeFence
	seen    observed.Look
	cluster admission.Picture
	ledger  api.FenceLedger
}

func stamp(t time.Time) *api.Time { m := metav1.NewMicroTime(t.UTC()); return &m }

func newWorld() *world {
	w := &world{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.fence = api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "f0"},
		Spec:       api.NodeFenceSpec{NodeName: "n0"},
		Status: api.NodeFenceStatus{
			Decision: api.Decision{NodeUID: "u0", Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}},
				Devices: api.Named(api.Binding{Driver: "mem", Address: "n0"}, api.Binding{Driver: "mem", Address: "m0"}),
			}, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: w.ago(2 * time.Minute), PhaseSince: w.ago(2 * time.Minute),
			Lease: api.LeaseRecord{Renewed: "r", StillSince: w.ago(3 * time.Minute)},
		},
	}
	w.seen = observed.Look{
		Me: "me", Resolved: true, Brakes: observed.Brakes{Looked: true, Counted: true}, Finalizer: true, Left: &observed.Left{},
		Lease: observed.Lease{Exists: true, Renewed: "r", Renewal: 10 * time.Second},
		Node:  observed.Node{Exists: true, UID: "u0", BootID: "b", Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown", Since: w.now}}},
	}
	for i := range 10 {
		w.cluster.Nodes = append(w.cluster.Nodes, admission.Node{
			Name: fmt.Sprintf("n%d", i), Unhealthy: i == 0, Labels: map[string]string{zoneKey: []string{"a", "b"}[i/5], "name": fmt.Sprintf("n%d", i)},
		})
	}
	w.ledger.Status.Leases = api.LeasePicture{Since: w.ago(time.Hour), ObservedAt: stamp(w.now), Total: 10, Renewal: metav1.Duration{Duration: 10 * time.Second}}
	return w
}

func (w *world) ago(d time.Duration) *api.Time { return stamp(w.now.Add(-d)) }

// decides asks what becomes of n0's record under this policy, and of its asking for
// a slot if that is what it leads to.
func decides(change ...func(*world)) question {
	return func(t *testing.T, spec []byte) string {
		w := newWorld()
		for _, c := range change {
			c(w)
		}
		return w.decide(read[api.FencePolicySpec](t, spec))
	}
}

func (w *world) decide(spec api.FencePolicySpec) string {
	f := &w.fence
	policies := append([]api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec}}, w.others...)
	resolved, ok := policy.ResolvePolicy(policies, f.Spec.NodeName, w.cluster.Nodes[0].Labels)
	if !ok {
		return "no policy"
	}
	f.Status.Decision.ResolvedPolicy = resolved
	w.seen.Node.ControlPlane = w.cluster.Nodes[0].ControlPlane
	st, act := fence.Decide(f, w.seen, w.now)
	said := fmt.Sprintf("%s %s, action %q", st.Phase, st.Reason, act)
	said += after("next look", st.NextLook, w.now) + after("release until", st.Release.Deadline, w.now) + after("not before", st.Power.NotBefore, w.now)
	if act == fence.Release {
		said += fmt.Sprintf(", %d pods, taint %v %s", st.Release.Batch, st.Placed.OutOfService, st.Placed.OutOfServiceAs)
	}
	if st.Claim != nil {
		said += after("call until", &st.Claim.NotAfter, w.now)
	}
	if act != fence.Reserve {
		return said
	}
	f.Status = st
	w.cluster.Fences = append(w.cluster.Fences, *f)
	v := admission.Admit(f, w.cluster, &w.ledger, w.now)
	if v == nil {
		return "reserved"
	}
	return fmt.Sprintf("no slot: %s", v.Reason)
}

func after(what string, at *api.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf(", %s +%s", what, at.Sub(now))
}

func read[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// phase is a world in which n0's fence has come so far.
func phase(p api.Phase) func(*world) {
	return func(w *world) {
		w.fence.Status.Phase, w.fence.Status.DecidedAt, w.fence.Status.BootIDBefore = p, w.ago(time.Second), "b"
		w.fence.Status.Placed.Taint, w.seen.Node.Taint = true, true
	}
}

// reads is what this invocation's call to the device has given.
func reads(power, err string) func(*world) {
	return func(w *world) {
		w.fence.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, At: *w.ago(time.Second), NotAfter: *w.ago(-time.Minute)}
		w.seen.Call = &observed.CallResult{Call: api.CallRead, Power: power, At: w.now, Err: err}
	}
}

func ready(w *world) { w.seen.Node.Conditions[0].Status = "True" }

// lives is n0 that is Ready, with a Lease that has just moved, and whose fence somebody asks for.
func lives(w *world) {
	ready(w)
	w.seen.Lease.Renewed = "r2"
	w.fence.Status.Decision.Trigger = api.Trigger{Type: api.TriggerRequest}
	w.fence.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: *w.ago(time.Second)}}
}

// dumping is a machine that has been dumping its memory for some time.
func dumping(w *world) {
	w.fence.Status.Kdump = &api.KdumpRecord{Since: *w.ago(100 * time.Second), BootID: "b"}
	w.seen.Dump = &observed.Dump{NodeUID: "u0", BootID: "b", First: w.now.Add(-100 * time.Second), Last: w.now.Add(-20 * time.Second), Source: "10.0.0.1", Count: 9}
}

// dead are nodes beside n0 that are unhealthy.
func dead(nodes ...int) func(*world) {
	return func(w *world) {
		for _, i := range nodes {
			w.cluster.Nodes[i].Unhealthy = true
		}
	}
}

func fenced(i int) func(*world) {
	return func(w *world) {
		name := fmt.Sprintf("n%d", i)
		w.cluster.Fences = append(w.cluster.Fences, api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("f" + name)},
			Spec: api.NodeFenceSpec{NodeName: name}, Status: api.NodeFenceStatus{FenceNumber: 1, Phase: api.Fencing}})
	}
}

func begun(i int, ago time.Duration) func(*world) {
	return func(w *world) {
		w.ledger.Status.Admitted = append(w.ledger.Status.Admitted, api.Reservation{NodeName: fmt.Sprintf("n%d", i), FenceUID: "old", FenceNumber: 1, At: *w.ago(ago)})
	}
}

// activity is what the activity checks have come to.
func activity(change func(*world, *api.ActivityRecord)) func(*world) {
	return func(w *world) {
		w.fence.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, EndedAt: w.ago(time.Second), Since: w.ago(2 * time.Minute)}}
		change(w, w.fence.Status.ActivityChecks)
	}
}

// budgets asks whether n0, which is healthy and asked for, has room in a budget.
func budgets(change ...func(*world)) question {
	return func(t *testing.T, spec []byte) string {
		w := newWorld()
		w.cluster.Nodes[0].Unhealthy = false
		for _, c := range change {
			c(w)
		}
		w.cluster.Budgets = []api.FenceBudget{{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: read[api.FenceBudgetSpec](t, spec)}}
		return w.decide(read[api.FencePolicySpec](t, []byte(basePolicy)))
	}
}

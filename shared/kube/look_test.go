package kube

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/policy"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

func TestNodeSeen(t *testing.T) {
	taint := func(key, value string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Value: value}}}}
	}
	labelled := func(k, v string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{k: v}}}
	}
	for name, c := range map[string]struct {
		node *corev1.Node
		want fence.Node
	}{
		"UID, boot ID, conditions": {
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.NodeStatus{
				NodeInfo:   corev1.NodeSystemInfo{BootID: "b"},
				Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown", LastTransitionTime: metav1.NewTime(noon)}},
			}},
			fence.Node{UID: "u", BootID: "b", Conditions: []fence.Condition{{Type: "Ready", Status: "Unknown", Reason: "NodeStatusUnknown", Since: noon}}},
		},
		"our taint of this fence":          {taint(api.IsolationTaint, "f1"), fence.Node{Taint: true}},
		"our taint of another fence":       {taint(api.IsolationTaint, "f0"), fence.Node{}},
		"a control-plane node":             {labelled(api.ControlPlaneLabel, ""), fence.Node{ControlPlane: true}},
		"a control-plane node of old":      {labelled("node-role.kubernetes.io/master", ""), fence.Node{ControlPlane: true}},
		"a node of etcd alone":             {labelled("node-role.kubernetes.io/etcd", "true"), fence.Node{ControlPlane: true}},
		"a node that nothing may touch":    {labelled(excludeLabel, "true"), fence.Node{Excluded: "the node has the label " + excludeLabel + "=true"}},
		"one that was meant to be so once": {labelled(excludeLabel, "false"), fence.Node{}},
		"a node that an autoscaler deletes": {taint("karpenter.sh/disrupted", ""),
			fence.Node{Deleting: "Karpenter is about to delete this node (taint karpenter.sh/disrupted)"}},
		"a node that is being deleted": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: noon}}},
			fence.Node{Deleting: "the Node object is being deleted", Terminating: true}},
		"a cordon": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, fence.Node{Cordoned: true}},
		"our cordon": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "nodefence"}, {Manager: "nodefence", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
		}}}, fence.Node{Cordoned: true, CordonOurs: true}},
		"a cordon that we do not manage": {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "nodefence", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)},
			{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
		}}}, fence.Node{Cordoned: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Exists, c.want.Labels = true, c.node.Labels
			if d := cmp.Diff(c.want, NodeSeen(c.node, "f1")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestALeaseIsAMarkAndAPace(t *testing.T) {
	forty, none, slow, never := int32(40), int32(0), int32(100), int32(math.MaxInt32)
	at := metav1.NewMicroTime(noon.In(time.FixedZone("x", 3600)))
	for name, c := range map[string]struct {
		spec    coordinationv1.LeaseSpec
		mark    string
		renewal time.Duration
		tooSlow time.Duration
	}{
		"the kubelet's":         {coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &forty}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"one without duration":  {coordinationv1.LeaseSpec{RenewTime: &at}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"a duration of nothing": {coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &none}, "2026-05-01T12:00:00.123456Z", 10 * time.Second, 0},
		"never renewed":         {coordinationv1.LeaseSpec{LeaseDurationSeconds: &forty}, "", 10 * time.Second, 0},
		"a slow one":            {coordinationv1.LeaseSpec{LeaseDurationSeconds: &slow}, "", 25 * time.Second, 0},
		// Its node writes it: what it says of itself may hold nobody else (S14, S15).
		"one for half a life": {coordinationv1.LeaseSpec{LeaseDurationSeconds: &never}, "", 25 * time.Second, math.MaxInt32 * time.Second / 4},
	} {
		l := &coordinationv1.Lease{Spec: c.spec}
		if mark, renewal := LeaseMark(l), LeaseRenewal(l); mark != c.mark || renewal != c.renewal {
			t.Errorf("%s: %q, %s", name, mark, renewal)
		}
		if said, too := LeaseTooSlow(l); said != c.tooSlow || too != (c.tooSlow > 0) {
			t.Errorf("%s: says %s, too slow: %t", name, said, too)
		}
	}
}

const lease = `{"metadata":{"name":"a"},"spec":{"renewTime":"2026-05-01T12:00:00.123456Z","leaseDurationSeconds":8}}`

// TestLook: what a decision rests on, as it stands on the API server.
func TestLook(t *testing.T) {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{UID: "f1"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 2, Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Limits: []api.ScopedLimits{{Policy: "first"}, {Policy: "second"}}}}}}
	seenLease := fence.Lease{Exists: true, Renewed: "2026-05-01T12:00:00.123456Z", Renewal: 2 * time.Second}
	still := seenLease
	still.StillSince = noon
	for name, c := range map[string]struct {
		lease, ledger string
		// policy is the one that the second of its limits is of.
		policy string
		want   fence.Seen
	}{
		"nothing stands against it": {lease, `{}`, "", fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"no Lease":                  {"", `{}`, "", fence.Seen{Brakes: fence.Brakes{Looked: true}}},
		"the source has seen the Lease stand": {lease, `{"status":{"leases":{"still":[{"nodeName":"a","renewed":"2026-05-01T12:00:00.123456Z","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			fence.Seen{Lease: still, Brakes: fence.Brakes{Looked: true}}},
		"the Lease has moved since": {lease, `{"status":{"leases":{"still":[{"nodeName":"a","renewed":"2026-05-01T11:00:00Z","since":"2026-05-01T11:00:00.000000Z"}]}}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"another node's Lease stands": {lease, `{"status":{"leases":{"still":[{"nodeName":"b","renewed":"2026-05-01T12:00:00.123456Z","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"its slot": {lease, `{"status":{"reservations":[{"nodeName":"a","fenceUID":"f1","fenceNumber":2,"at":"2026-05-01T12:00:00.123456Z"}]}}`, "",
			fence.Seen{Lease: seenLease, Reserved: &noon, Brakes: fence.Brakes{Looked: true}}},
		"an earlier fence's slot": {lease, `{"status":{"reservations":[{"nodeName":"a","fenceUID":"f1","fenceNumber":1,"at":"2026-05-01T12:00:00.123456Z"}]}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"a storm": {lease, `{"status":{"storms":[{"policy":"second","since":"2026-05-01T12:00:00.123456Z","domain":"","message":"5 of 9"}]}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Storm: true, Message: "policy second: 5 of 9"}}},
		"another policy's storm": {lease, `{"status":{"storms":[{"policy":"third","since":"2026-05-01T12:00:00.123456Z","domain":"","message":"5 of 9"}]}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"most Leases stand still (S16)": {lease, `{"status":{"leases":{"total":3,"still":[{"nodeName":"b","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"},{"nodeName":"c","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Storm: true, Why: "MostLeasesStale", Message: "2 of 3 Leases stand still: it may be we who are cut off"}}},
		"the stop switch": {lease, `{"spec":{"stop":true}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Stopped: true, Why: "Stopped", Message: "the ledger's stop switch is on"}}},
		"a restore": {lease, `{"status":{"restored":{"seenAt":"2026-05-01T12:00:00.123456Z","from":"9","to":"7"}}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Stopped: true, Why: "StateWentBack",
				Message: "the API server's state went back in time: the ledger's resourceVersion was 9, and was 7 at 2026-05-01T12:00:00Z; a person must confirm (spec.restoreConfirmed of FenceLedger cluster)"}}},
		"a restore that was confirmed": {lease, `{"spec":{"restoreConfirmed":{"by":"anna","seenAt":"2026-05-01T12:00:00.123456Z"}},"status":{"restored":{"seenAt":"2026-05-01T12:00:00.123456Z","from":"9","to":"7"}}}`, "",
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
		"a policy that is paused now": {lease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["anna"]}}`,
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Paused: true, Message: "policy second is paused by anna"}}},
		"a policy that somebody pauses": {lease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["upgrade","anna"]}}`,
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Paused: true, Message: "policy second is paused by upgrade, anna"}}},
		"a policy with a pause window": {lease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseWindows":[{"start":"22:00","duration":"8h"}]}}`,
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true, Windows: []policy.Windows{{Policy: "second", Windows: []api.PauseWindowRule{{Start: "22:00", Duration: "8h"}}}}}}},
		"a policy that is not paused": {lease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}`,
			fence.Seen{Lease: seenLease, Brakes: fence.Brakes{Looked: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			if c.lease != "" {
				api.set(leasesPath+"/a", c.lease)
			}
			api.set(ledgerPath, c.ledger)
			policies := `{"metadata":{"name":"third"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["anna"]}}`
			if c.policy != "" {
				policies += "," + c.policy
			}
			api.set(policiesPath, `{"items":[`+policies+`]}`)
			var seen fence.Seen
			if err := api.LookNode(t.Context(), f, &seen); err != nil {
				t.Fatal(err)
			}
			if err := api.LookBrakes(t.Context(), f, &seen); err != nil {
				t.Fatal(err)
			}
			c.want.Brakes.Unwatched = unwatched
			if d := cmp.Diff(c.want, seen); d != "" {
				t.Error(d)
			}
		})
	}
}

// unwatched: in none of these ledgers stands when anybody has drawn there.
const unwatched = "nobody has watched the Leases yet"

// TestNoPolicySelectsTheNode: an admin who deletes a policy expects that nothing begins under
// it: what was not begun ends, and what was sends no further Off (S17, S25).
func TestNoPolicySelectsTheNode(t *testing.T) {
	const words = "no FencePolicy selects this node any more; it was fenced under policy mine"
	const mine, other = `{"metadata":{"name":"mine"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","precedence":1}}`, `{"metadata":{"name":"other"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","precedence":2}}`
	ends := fence.Brakes{Looked: true, Gone: true, Why: api.PolicyDeleted, Message: words}
	other2 := fence.Brakes{Looked: true, Changed: true, Stricter: true, Why: api.PolicyChanged, Message: "policy other decides for this node now; it was admitted under policy mine"}
	for name, c := range map[string]struct {
		policies, ledger string
		begun            bool
		want             fence.Brakes
	}{
		"it is there":                     {mine + "," + other, `{}`, false, fence.Brakes{Looked: true}},
		"it is deleted":                   {"", `{}`, false, ends},
		"deleted after the Off":           {"", `{}`, true, fence.Brakes{Looked: true, Stopped: true, Why: api.PolicyDeleted, Message: words + ": no further power is cut until one does"}},
		"deleted, and everything stopped": {"", `{"spec":{"stop":true}}`, false, fence.Brakes{Looked: true, Stopped: true, Why: api.Stopped, Message: "the ledger's stop switch is on"}},
		"another one decides":             {other, `{}`, false, other2},
		"another's limits are gone":       {mine, `{}`, false, fence.Brakes{Looked: true, Changed: true}},
		"it has chosen other nodes since": {`{"metadata":{"name":"mine"},"spec":{"mode":"Enforce","action":"Reboot","selector":{"matchLabels":{"x":"y"}}}}`, `{}`, false, ends},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "mine"}, Settings: api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot}, Limits: []api.ScopedLimits{{Policy: "mine"}, {Policy: "other"}}}}}}
			f.Status.Power.SwitchedByUs = c.begun
			fake := newFakeAPI(t)
			fake.set(ledgerPath, c.ledger)
			fake.set(policiesPath, `{"items":[`+c.policies+`]}`)
			seen := fence.Seen{Node: fence.Node{Exists: true}}
			if err := fake.LookBrakes(t.Context(), f, &seen); err != nil {
				t.Fatal(err)
			}
			c.want.Unwatched = unwatched
			if d := cmp.Diff(c.want, seen.Brakes); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWhatCannotBeSeenIsNotSeen: no part of a look that fails says that all is well.
func TestWhatCannotBeSeenIsNotSeen(t *testing.T) {
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Limits: []api.ScopedLimits{{Policy: "p"}}}}}}
	for _, path := range []string{nodePath, leasesPath + "/a", ledgerPath, policiesPath} {
		t.Run(path, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, node("", ours, ""))
			api.set(ledgerPath, `{}`)
			api.answer[path] = func(w http.ResponseWriter, _ request) { refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable") }
			var seen fence.Seen
			err := api.LookNode(t.Context(), f, &seen)
			if err == nil {
				err = api.LookBrakes(t.Context(), f, &seen)
			}
			if err == nil || seen.Brakes.Looked {
				t.Errorf("%v, %+v", err, seen)
			}
		})
	}
}

// TestOutOfServiceSeen: the taint of this fence's own value is told from any other (S22).
func TestOutOfServiceSeen(t *testing.T) {
	tainted := func(value string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: api.OutOfServiceTaint, Value: value}}}}
	}
	for name, c := range map[string]struct {
		node *corev1.Node
		as   api.OutOfServiceValue
		want [2]bool // ours, foreign
	}{
		"off":                      {tainted("nodeshutdown"), api.NodeShutdown, [2]bool{true}},
		"beyond repair":            {tainted("hardwarefailure"), api.HardwareFailure, [2]bool{true}},
		"another word":             {tainted("nodeshutdown"), api.HardwareFailure, [2]bool{false, true}},
		"by another hand":          {tainted("x"), api.NodeShutdown, [2]bool{false, true}},
		"another taint altogether": {&corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "x", Value: "nodeshutdown"}}}}, api.NodeShutdown, [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, foreign := outOfService(c.node, c.as)
			if got := [2]bool{ours, foreign}; got != c.want {
				t.Errorf("ours, foreign: %v, want %v", got, c.want)
			}
		})
	}
}

// TestABootIDOfAnyLength: a kubelet may say what it likes of its boot. It is told from
// another one by all of it, by no more than a record takes, and in a dump's Lease as on
// the Node (S3).
func TestABootIDOfAnyLength(t *testing.T) {
	const linux = "0b3f2f46-1b0f-4d0c-9a3e-4f0c7a0c6f11"
	long := strings.Repeat("b", 1<<20)
	for said, want := range map[string]int{"": 0, linux: 36, long: 71, long + "'": 71} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
		n.Status.NodeInfo.BootID = said
		got := NodeSeen(n, "").BootID
		dump := dumpOf(dumpLease(nil, n, "192.0.2.7", time.Now()))
		if len(got) != want || dump.BootID != got || said != long && got == NodeSeen(&corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: long}}}, "").BootID {
			t.Errorf("of %d letters: %.80q, of its dump %.80q", len(said), got, dump.BootID)
		}
		again := dumpLease(dumpLease(nil, n, "192.0.2.7", time.Now()), n, "192.0.2.7", time.Now())
		if d := dumpOf(again); d.Count != 2 {
			t.Errorf("a second message of one boot begins another dump: %+v", d)
		}
	}
}

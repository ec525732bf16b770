package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// operators have the roles that nodefence gives to people: otto operates, ada administers.
// cara may write NodeFences by a role that is not nodefence's. edna edits workloads in all
// namespaces.
const operators = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: create}
rules: [{apiGroups: [nodefence.io], resources: [nodefences, nodefences/status], verbs: [get, create, update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cara}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: create}
subjects: [{kind: User, name: cara}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operators}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-operate}
subjects: [{kind: User, name: otto}, {kind: User, name: ada}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: administrators}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-administer}
subjects: [{kind: User, name: ada}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: editors}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: User, name: edna}]
`

const (
	gateAccount    = "system:serviceaccount:nodefence-system:nodefence-gate"
	cleanupAccount = "system:serviceaccount:nodefence-system:nodefence-cleanup"
)

// decided are attempts to write what only the gate decides. A person who could do so could
// have credentials sent to an address of his own, or forge a proof.
var decided = map[string]func(*api.NodeFenceStatus){
	"a device":            func(s *api.NodeFenceStatus) { s.Decision.Devices = api.Named(bound("10.6.6.6")) },
	"the device's end":    func(s *api.NodeFenceStatus) { s.Decision.Devices = nil },
	"a further level":     func(s *api.NodeFenceStatus) { s.Decision.Devices = more(s, api.RolePower) },
	"a cut":               func(s *api.NodeFenceStatus) { s.Decision.Devices = more(s, api.RoleStorage) },
	"the next number":     func(s *api.NodeFenceStatus) { s.FenceNumber++ },
	"a trigger":           func(s *api.NodeFenceStatus) { s.Decision.Trigger.Since = metav1.NewMicroTime(time.Now()) },
	"a policy":            func(s *api.NodeFenceStatus) { s.Decision.Limits = []api.ScopedLimits{} },
	"the gate's yes anew": func(s *api.NodeFenceStatus) { s.DecidedAt = new(metav1.NowMicro()) },
	"a device's error":    func(s *api.NodeFenceStatus) { s.Decision.DevicesError = "gone" },
}

// people gives the roles of nodefence, and its functions', to those who have them.
func (w *world) people() {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	for _, file := range []string{"people/people.yaml", "accounts/rights.yaml"} {
		must(w.t, w.ApplyFile(w.ctx, filepath.Join(root, "infra", file)))
	}
	must(w.t, w.Apply(w.ctx, operators))
}

// guarded waits until the API server enforces the admission policy.
func (w *world) guarded() {
	w.t.Helper()
	w.until("the admission policy to hold", func() (bool, error) {
		return strings.Contains(w.open("cara", "probe").says, "verb decide on nodefences"), nil
	})
}

// TestOnlyTheGateDecides: with the roles that nodefence gives to people, a person may ask.
// Only the gate's account writes decisions; the other functions, which write the rest of
// the status, may not (S11, S20).
func TestOnlyTheGateDecides(t *testing.T) {
	w := newWorld(t, 1, quick)
	w.people()
	for _, who := range []string{"otto", "ada", "cara"} {
		w.allowed(who, "update", "of-gate")
	}
	w.allowed("otto", "abort", "of-gate")
	w.allowed(gateAccount, "decide", "of-gate")
	// Kubernetes' role edit includes the roles that aggregate to it, so edna can read.
	w.allowed("edna", "get", "of-gate")
	for _, verb := range []string{"fence", "approve", "abort", "retry", "uncordon", "confirm", "update", "patch", "create", "delete", "decide"} {
		if w.may("edna", verb, "of-gate") {
			t.Errorf("who may edit workloads may %s NodeFences", verb)
		}
	}
	w.guarded()
	if r := w.open(gateAccount, "of-gate"); r != (refusal{}) {
		t.Fatalf("the gate opens a record: %+v", r)
	}
	// Two admission policies refuse cleanup, and an API server tells either's message.
	sayings := map[string][]string{
		cleanupAccount: {"in the phases of its own function", "verb decide on nodefences"},
		"cara":         {"verb decide on nodefences"},
	}
	for name, write := range decided {
		for who, says := range sayings {
			r := w.decide(who, "of-gate", write)
			if r.code != 403 || !slices.ContainsFunc(says, func(s string) bool { return strings.Contains(r.says, s) }) {
				t.Errorf("%s, by %s: %+v", name, who, r)
			}
		}
	}
	another := func(s *api.NodeFenceStatus) { s.Decision.NodeUID = "2" }
	if r := w.decide(gateAccount, "of-gate", another); r.code != 422 || !strings.Contains(r.says, "does not change within one fence") {
		t.Errorf("another node's UID, by the gate: %+v", r)
	}
	ask := func(s *api.NodeFenceSpec) { s.Requests.Abort = aborts("otto") }
	if r := w.change("otto", "of-gate", ask); r != (refusal{}) {
		t.Errorf("a wish: %+v", r)
	}
	for name, write := range decided {
		if r := w.decide(gateAccount, "of-gate", write); r != (refusal{}) {
			t.Errorf("%s, by the gate: %+v", name, r)
		}
	}
	if r := w.change("otto", "of-gate", func(s *api.NodeFenceSpec) { s.Requests = api.Requests{} }); r != (refusal{}) {
		t.Errorf("a wish is withdrawn: %+v", r)
	}
}

// more has one more device.
func more(s *api.NodeFenceStatus, role api.Role) []api.Binding {
	b := bound("10.6.6.6")
	b.Role = role
	return api.Named(append(slices.Clone(s.Decision.Devices), b)...)
}

func bound(ip string) api.Binding {
	return api.Binding{
		Driver: "ipmi", Address: ip + ":623", Params: map[string]string{"ip": ip},
		SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "bmc-node-1", Key: "password"}},
	}
}

// open writes a node's first record as that user.
func (w *world) open(who, node string) refusal {
	w.t.Helper()
	f := w.record(node)
	made, err := w.Fences.Fence(w.ctx, node)
	must(w.t, err)
	if made == nil {
		made, err = w.Fences.CreateFence(w.ctx, f)
		must(w.t, err)
	}
	made.Status = f.Status
	made.Status.Decision.Devices = api.Named(bound("10.0.0.7"))
	_, err = w.as(who).SaveFenceStatus(w.ctx, made)
	return w.refused(err)
}

// decide writes the record's status as that user.
func (w *world) decide(who, node string, write func(*api.NodeFenceStatus)) refusal {
	w.t.Helper()
	f, err := w.Fences.Fence(w.ctx, node)
	must(w.t, err)
	write(&f.Status)
	_, err = w.as(who).SaveFenceStatus(w.ctx, f)
	return w.refused(err)
}

// change writes the record as that user, after a read of the present record.
func (w *world) change(who, node string, write func(*api.NodeFenceSpec)) refusal {
	w.t.Helper()
	f, err := w.Fences.Fence(w.ctx, node)
	must(w.t, err)
	write(&f.Spec)
	_, err = w.replace(who, f)
	return w.refused(err)
}

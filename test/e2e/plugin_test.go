package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestKubectlFence types every command of the plugin, and compares what it says with the transcripts
// of sources/kubectl-fence/testdata: a look at a healthy cluster, a drill, the brakes, a fence that is
// approved and one that is ended, one that is asked for, a machine that a person confirms off, a bundle in
// which no password is, and what users without rights, with older kinds, without any kind and without a
// cluster are told.
func TestKubectlFence(t *testing.T) {
	w := newWorld(t, 4, quick)
	s := &transcript{world: w}
	s.types(0, "devices")
	nodefence := w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })
	for i := range 4 {
		w.target(fmt.Sprint("node-", i), "True", api.DeviceAnswers, "")
	}
	w.until("nodefence to be ready to fence", func() (bool, error) {
		code, said := w.plugin("plan", "--all")
		return code == 0 && strings.Count(said, "would begin") == 4, nil
	})
	s.looks()
	s.kept("look")
	s.prepares()
	s.kept("prepare")
	s.serves()
	s.kept("ui")
	s.drills()
	s.kept("drill")
	s.tells()
	s.kept("history")
	s.brakes()
	s.kept("brake")
	s.acts()
	s.kept("act")
	s.asksFor()
	s.kept("ask")
	s.confirms()
	s.kept("confirm")
	s.bundles()
	s.kept("bundle")
	s.mayNot()
	s.kept("refused")
	nodefence.Stop()
	s.lacks()
	s.kept("without")
}

// looks: nothing is wrong.
func (s *transcript) looks() {
	s.types(0, "status")
	s.types(0, "devices")
	s.types(0, "why", "node-0")
	s.types(0, "plan", "--all")
	s.types(1, "why", "node-9")
	s.types(2, "plan", "node-9")
	s.types(0, "history")
	for _, kind := range []string{"metal", "cloud", "cattle", "control-plane"} {
		_, text := s.plugin("init", "--for", kind, "--selector", "none=of-these")
		must(s.t, s.Apply(s.ctx, text))
		must(s.t, s.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/"+kind).Do(s.ctx).Error())
	}
}

// drills: a healthy node is fenced for real, and the request is gone afterwards.
func (s *transcript) drills() {
	s.types(1, "drill", "node-0")
	s.types(1, "drill", "node-9")
	follow := (&transcript{world: s.world}).follows()
	s.types(0, "drill", "node-0", "--confirm", "node-0")
	s.words("node-0", "off on")
	s.until("the request of the drill to be gone", func() (bool, error) {
		all, err := s.Fences.FenceRequests(s.ctx, "nodefence-system")
		return len(all) == 0, err
	})
	follow()
}

// brakes of one policy and of the whole cluster.
func (s *transcript) brakes() {
	s.types(1, "stop", "--reason", "switches")
	s.types(0, "stop", "--reason", "switches", "--yes")
	s.said("stopped by lab-admin at ")
	s.types(0, "status")
	s.types(1, "drill", "node-1")
	s.types(0, "start", "--yes")
	noted := s.notes()
	s.types(0, "pause", "default", "--yes")
	noted("no new fence begins under policy default: it is paused by lab-admin")
	s.said("last changed by lab-admin at ")
	s.types(0, "status")
	s.types(1, "pause", "default", "--yes")
	s.types(1, "resume", "default", "--as-name", "upgrade", "--yes")
	s.types(0, "resume", "default", "--yes")
	s.types(1, "pause", "workers", "--yes")
	s.types(1, "ask", "node-1")
	s.types(0, "ask", "node-1", "--reason", "its fan screams", "--dry-run", "server")
	s.ledgerWords()
}

// said waits until the status says who changed a brake: the source records that a moment after the change.
func (s *transcript) said(who string) {
	s.until("the status to say: "+who, func() (bool, error) {
		_, text := s.plugin("status")
		return strings.Contains(text, who), nil
	})
}

// ledgerWords: a person ends a cool-down, and confirms a restore. That either was seen is written into
// the ledger: nodefence itself keeps what it does not know.
func (s *transcript) ledgerWords() {
	s.types(1, "end-cool-down", "--yes")
	s.types(1, "end-cool-down", "--reason", "the switch is replaced", "--yes")
	s.types(1, "confirm-restore", "--yes")
	s.ledger(func(l *api.FenceLedger) {
		until := metav1.NewMicroTime(l.Status.Leases.ObservedAt.Add(time.Hour))
		l.Status.Storms = []api.Storm{{Policy: "default", Since: *l.Status.Leases.ObservedAt, CoolDownUntil: &until, Message: "3 of 4 nodes are unhealthy, and 2 may be"}}
	})
	s.types(0, "status")
	s.types(1, "end-cool-down", "--reason", "the switch is replaced")
	s.types(0, "end-cool-down", "--reason", "the switch is replaced", "--dry-run", "server")
	s.types(0, "end-cool-down", "--reason", "the switch is replaced", "--yes")
	s.types(1, "end-cool-down", "--reason", "the switch is replaced", "--yes")
	s.ledger(func(l *api.FenceLedger) { l.Status.Storms = nil }) // the next fence would
	s.restored()
	s.types(1, "confirm-restore")
	s.types(0, "confirm-restore", "--yes")
	s.types(1, "confirm-restore", "--yes")
}

// restored has the ledger say that the API server's state went back in time.
func (s *transcript) restored() {
	s.t.Helper()
	s.ledger(func(l *api.FenceLedger) {
		l.Status.Restored = &api.Restored{SeenAt: *l.Status.Leases.ObservedAt, From: "1000", To: "600"}
	})
}

// ledger writes the ledger's status, which nodefence writes too.
func (s *transcript) ledger(change func(*api.FenceLedger)) {
	s.t.Helper()
	s.until("the ledger to be written", func() (bool, error) {
		l, err := s.Fences.Ledger(s.ctx)
		if err != nil {
			return false, err
		}
		change(l)
		_, err = s.Fences.SaveLedger(s.ctx, l)
		return err == nil, nil
	})
}

// acts: a fence waits for a person, is approved, and its node given back; another is ended.
func (s *transcript) acts() {
	must(s.t, s.ApplyAs(s.ctx, "rig", rig.Policy("default", quick+"mode: RequireApproval\n")))
	s.manual()
	s.node("node-1", "crash")
	s.reason("node-1", api.WaitingForApproval)
	s.types(0, "status", "--no-headers")
	s.types(0, "why", "node-1")
	s.types(0, "retry", "node-1", "--yes")
	s.types(1, "approve", "node-1")
	s.types(0, "approve", "node-1", "--dry-run", "server")
	s.types(0, "approve", "node-1", "--yes", "--reason", "seen dead on its console")
	s.reason("node-1", api.WaitingForUncordon)
	s.types(0, "why", "node-1")
	s.types(0, "cordon", "node-1", "--dry-run", "server")
	s.types(0, "lift", "node-1", "--yes")
	s.ended("node-1", api.Recovered)
	s.types(0, "history", "node-1")
	s.types(1, "abort", "node-1")
	s.node("node-2", "crash")
	s.reason("node-2", api.WaitingForApproval)
	s.types(0, "abort", "node-2", "--yes")
	s.ended("node-2", api.Aborted)
	s.types(0, "status")
	s.types(0, "why", "node-2")
	s.types(0, "history")
}

// manual has a person give nodes back.
func (s *transcript) manual() {
	s.merge("fencepolicies/default", `{"spec":{"recovery":{"uncordon":"Manual"}}}`)
}

func (s *transcript) merge(object, patch string) {
	s.t.Helper()
	must(s.t, s.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/"+object).Body([]byte(patch)).Do(s.ctx).Error())
}

// reason waits until a fence stands for that reason.
func (s *transcript) reason(node string, want api.Reason) {
	s.t.Helper()
	s.untilFence(node, "stand for "+string(want), func(f *api.NodeFence) bool { return f.Open() && f.Status.Reason == want })
}

// confirms: no device is touched, and a person says that the machine is off.
func (s *transcript) confirms() {
	s.merge("fencepolicies/default", `{"spec":{"mode":"Enforce","approvalTimeout":null,"action":"Isolate","power":null}}`)
	s.node("node-3", "power-loss")
	s.reason("node-3", api.IsolatedOnly)
	s.types(0, "why", "node-3")
	s.types(1, "confirm-off", "node-3")
	s.types(1, "confirm-off", "node-3", "--confirm", "node-2")
	s.types(0, "confirm-off", "node-3", "--confirm", "node-3", "--reason", "unplugged")
	s.reason("node-3", api.StaysOff)
}

// writesLedger lets carol write the ledger, and confirm nothing.
const writesLedger = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: write-ledger}
rules: [{apiGroups: [nodefence.io], resources: [fenceledgers], verbs: [get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: write-ledger}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: write-ledger}
subjects: [{kind: User, name: carol}]
`

// mayNot: users without rights, or with some, and kinds that are older than the program.
func (s *transcript) mayNot() {
	root, err := rig.Root()
	must(s.t, err)
	must(s.t, s.ApplyFile(s.ctx, filepath.Join(root, "infra/people/people.yaml")))
	must(s.t, s.Apply(s.ctx, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: bob}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-view}, subjects: [{kind: User, name: bob}]}`))
	s.types(1, "status", "--as", "ann")
	s.types(1, "approve", "node-3", "--yes", "--as", "ann")
	s.types(1, "status", "--as", "bob")
	s.types(1, "abort", "node-3", "--yes", "--as", "bob")
	s.types(1, "stop", "--yes", "--as", "bob")
	must(s.t, s.Apply(s.ctx, writesLedger))
	s.restored()
	s.types(1, "confirm-restore", "--yes", "--as", "bob")
	s.types(1, "confirm-restore", "--yes", "--as", "carol")
	s.types(1, "status", "--context", "nowhere")
	crd := s.Kube.CoreV1().RESTClient().Patch(types.JSONPatchType).AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fencerequests.nodefence.io").
		Body([]byte(`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/reason"}]`))
	must(s.t, crd.Do(s.ctx).Error())
	s.until("the older kind to be served", func() (bool, error) {
		_, said := s.plugin("ask", "node-0", "--reason", "r", "--dry-run", "server")
		return strings.Contains(said, "older"), nil
	})
	s.types(1, "ask", "node-0", "--reason", "its fan screams", "--yes")
}

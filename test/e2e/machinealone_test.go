package e2e

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/test/rig"
)

// TestMachineWithoutANode: a Machine that failed before it had a node is deleted, so that
// its owner makes another; the Machine that replaces it waits. Machines whose names Nodes
// have, and a Machine without an owner, stay.
func TestMachineWithoutANode(t *testing.T) {
	w := newWorld(t, 5, quick+"machines: {selector: {}, startupTimeout: 1m, withoutNode: Delete}\n")
	m, _ := w.instances()
	set, err := w.Kube.CoreV1().ConfigMaps(machineNamespace).Get(w.ctx, "workers", metav1.GetOptions{})
	must(t, err)
	create := func(name, owners string) types.UID {
		t.Helper()
		must(t, w.Apply(w.ctx, fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: %s, namespace: %s, ownerReferences: [%s]}, spec: {}}`, name, machineNamespace, owners)))
		o, err := m.api.Get(w.ctx, name, metav1.GetOptions{})
		must(t, err)
		_, err = m.api.Patch(w.ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Failed","errorReason":"InsufficientResources"}}`), metav1.PatchOptions{}, "status")
		must(t, err)
		return o.GetUID()
	}
	owned := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, name: workers, uid: %s, controller: true}", set.UID)
	create("stillborn", owned)
	create("orphan", "")
	w.start(nil)
	f := w.phase("stillborn", api.Finished)
	if x := f.Status.Decision.Trigger; !x.OnlyMachine() || f.Status.Decision.NodeUID != "" || f.Status.Outcome != api.MachineListedNoMore || f.Status.Proof != nil || f.Status.Release.StartedAt != nil || f.Status.Machine == nil || f.Status.Machine.Tries != 1 {
		t.Errorf("trigger %+v, outcome %s, %+v", x, f.Status.Outcome, f.Status)
	}
	if _, err := m.api.Get(w.ctx, "stillborn", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Machine: %v", err)
	}
	second := create("reborn", owned)
	w.until("the policy to say who waits and who is held", func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, "default")
		if err != nil || len(p.Status.FailedMachines) != 7 { // the five of the nodes name none here
			return false, err
		}
		for _, m := range p.Status.FailedMachines { // where the first one stands for a while
			if waits := m.UID == second; waits != (m.Held == "") || waits && (m.NotBefore == nil || m.NotBefore.Sub(f.Status.OpenedAt.Time).Minutes() < 9) {
				return false, nil
			}
		}
		return true, nil
	})
	all, err := m.api.List(w.ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) != 7 {
		t.Errorf("%d Machines: %v", len(all.Items), err)
	}
	fences, err := w.Fences.Fences(w.ctx)
	if err != nil || len(fences) != 1 {
		t.Errorf("%d fences: %v", len(fences), err)
	}
	// As the account of power, with the component's rights.
	root, err := rig.Root()
	must(t, err)
	must(t, w.ApplyFile(w.ctx, root+"/infra/knative/components/machines/rights.yaml"))
	power := rest.CopyConfig(w.Config)
	power.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:nodefence-system:nodefence-power", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := kube.New(power)
	must(t, err)
	w.until("the rights to be known", func() (bool, error) {
		return client.DeleteMachine(w.ctx, second, func(m *policy.Machine) error { return policy.MayDelete(m, []policy.NodeIdentity{{Name: "node-0"}}) }) == nil, nil
	})
	if _, err := m.api.Get(w.ctx, "reborn", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second Machine: %v", err)
	}
}

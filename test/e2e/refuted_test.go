package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/judge"
	"github.com/nodefence/nodefence/test/rig"
)

// TestACutThatTheBootIDRefutes: a node is cut off from the network and writes on, and its BMC says off and does nothing.
// Its work starts elsewhere, and there are two writers. Once the node is back under the boot ID of before, the record, its
// condition, a warning and the FenceTarget say so. A second fence believes no device and cuts nothing, until a named person
// trusts the device (S1, S28).
func TestACutThatTheBootIDRefutes(t *testing.T) {
	w := newWorld(t, 3, quick)
	victim := w.database(1)
	must(t, w.Lab.Fault(victim, "lie"))
	w.Lab.Declare(judge.FalseWord, victim)
	w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })
	boot := w.bootOf(victim)
	w.node(victim, "partition")
	w.moved("db-0", victim)
	w.node(victim, "heal")
	f := w.ended(victim, api.CutRefuted)
	r := f.Status.Refuted
	if r == nil || r.BootID != boot || r.FenceNumber != 1 || r.Level != 1 || w.bootOf(victim) != boot || !strings.HasPrefix(r.Device, "ipmi ") {
		t.Fatalf("refuted: %+v\n%s", r, rig.Story(f))
	}
	if !meta.IsStatusConditionTrue(f.Status.Conditions, api.ConditionCutRefuted) || !meta.IsStatusConditionFalse(f.Status.Conditions, api.ConditionSucceeded) {
		t.Errorf("the conditions are %+v", f.Status.Conditions)
	}
	told, err := w.Lab.Words(victim)
	must(t, err)
	if told != "off" && told != "off on" { // no On, if the node was back before
		t.Errorf("the BMC was told %q", told)
	}
	w.warned("Node", victim)
	w.warned("NodeFence", victim)
	if _, err := w.Lab.OneWriter(); err == nil {
		t.Error("there never were two writers: the BMC has cut the power after all")
	}
	w.until("the FenceTarget to say so", func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, victim)
		if err != nil || ft == nil {
			return false, err
		}
		c := meta.FindStatusCondition(ft.Status.Conditions, api.Fenceable)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(api.CutRefuted), nil
	})

	w.node(victim, "partition")
	w.heldAs(victim, 2, api.CutRefuted)
	w.words(victim, told)

	must(t, w.Lab.Fault(victim, "none"))
	w.node(victim, "heal")
	w.finished(victim, 2)
	w.node(victim, "partition")
	w.heldAs(victim, 3, api.CutRefuted)
	w.trustRefused(victim)
	must(t, w.trust(victim, "lab-admin", r.At))
	w.until("the machine to be cut", func() (bool, error) {
		words, err := w.Lab.Words(victim)
		return strings.HasPrefix(words, told+" off"), err
	})
	w.node(victim, "heal")
	f = w.finished(victim, 3)
	if f.Status.Outcome != api.Recovered || f.Status.Refuted != nil || w.bootOf(victim) == boot || !strings.Contains(rig.Story(f), "lab-admin says that "+r.Device+" may be believed again") {
		t.Errorf("refuted: %+v\n%s", f.Status.Refuted, rig.Story(f))
	}
	w.words(victim, told+" off on")
}

// bootOf is the boot ID that a node's kubelet says.
func (w *world) bootOf(node string) string {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	return n.Status.NodeInfo.BootID
}

// warned waits for a warning about an object that its cut is refuted.
func (w *world) warned(kind, name string) {
	w.t.Helper()
	w.until("a warning on "+kind+" "+name, func() (bool, error) {
		all, err := w.Kube.CoreV1().Events("").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name + ",reason=" + string(api.CutRefuted)})
		return err == nil && len(all.Items) > 0 && all.Items[0].Type == corev1.EventTypeWarning, err
	})
}

// heldAs waits until the fence of that number waits at the gate for a reason.
func (w *world) heldAs(node string, number int64, why api.Reason) {
	w.t.Helper()
	w.until(fmt.Sprintf("fence %d of %s to be held by %s", number, node, why), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return err == nil && f != nil && f.Status.FenceNumber == number && f.Status.Phase == api.Pending && f.Status.Reason == why, err
	})
}

// trust has the lab's administrator trust a node's device, in some name.
func (w *world) trust(node, by string, refuted api.Time) error {
	return w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/" + node).Body(fmt.Appendf(nil,
		`{"spec":{"trust":{"by":%q,"at":"2026-01-01T00:00:00Z","reason":"mended","refutedAt":%q}}}`, by, refuted.UTC().Format(metav1.RFC3339Micro))).Do(w.ctx).Error()
}

// trustRefused: a statement in another's name, and one about another power cut, are refused.
func (w *world) trustRefused(node string) {
	w.t.Helper()
	f, err := w.Fences.Fence(w.ctx, node)
	must(w.t, err)
	at := f.Status.Refuted.At
	for words, err := range map[string]error{
		"spec.trust.by must be your own name, lab-admin":     w.trust(node, "somebody", at),
		"spec.trust.refutedAt must be status.refuted.at of ": w.trust(node, "lab-admin", f.Status.Refuted.ProvenAt),
	} {
		if err == nil || !strings.Contains(err.Error(), words) {
			w.t.Errorf("%v, want %s", err, words)
		}
	}
}

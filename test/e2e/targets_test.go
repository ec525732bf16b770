package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestNodesThatCouldNotBeFencedAreReported before anything fails: one without a binding, one
// whose BMC does not answer, one whose BMC lets nobody in, and two whose cables are swapped. One
// of those fails as well: its fence stops at the device of another machine, and continues with
// its own after the ConfigMap is corrected and a retry (S11). A correction is reported too.
func TestNodesThatCouldNotBeFencedAreReported(t *testing.T) {
	w := newWorld(t, 6, quick)
	machines, err := w.Lab.Machines()
	must(t, err)
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	must(t, maps.Delete(w.ctx, "fence-config-node-node-1", metav1.DeleteOptions{}))
	must(t, w.Lab.Fault("node-2", "hang"))
	must(t, w.Lab.Fault("node-3", "wrong-password"))
	w.cable("node-4", machines["node-5"])
	w.cable("node-5", machines["node-4"])
	w.cutBy("node-0", "storage", networkFence)
	p := w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })

	w.target("node-0", "False", api.DeviceFailed, "isolation 1 of 1, networkfence networkfence:rbd.csi.example/rook#10.0.0.7/32: ")
	w.target("node-0", "False", api.DeviceFailed, "the CRD of csi-addons is not installed")
	w.target("node-1", "False", api.NoBinding, "there is no ConfigMap fence-config-node-node-1")
	w.target("node-2", "False", api.DeviceUnreachable, "in ConfigMap fence-config-node-node-2")
	w.target("node-3", "False", api.DeviceDenied, "Secret bmc-node-3, key password")
	w.target("node-4", "False", api.WrongMachine, "it is the device of node node-5: it answers for machine")
	w.target("node-5", "False", api.WrongMachine, "enrolled is "+machines["node-5"].SystemUUID)
	w.unfenceable(p, map[api.Reason]int{api.NoBinding: 1, api.DeviceFailed: 1, api.DeviceUnreachable: 1, api.DeviceDenied: 1, api.WrongMachine: 2})
	w.said("node-1", api.NoBinding, "this node could not be fenced now: ")
	uuid := machines["node-0"].SystemUUID
	for i := range 6 {
		w.hostHA(node(i), api.HostHAIneligible)
	}
	const names = "NAME DEVICE IDENTITY FENCEABLE REASON HOST-HA"
	w.columns("node-0", names, "node-0", machines["node-0"].BMC, uuid, "False", api.DeviceFailed, api.HostHAIneligible)
	w.columns("node-1", names, "node-1", nil, nil, "False", api.NoBinding, api.HostHAIneligible)

	w.node("node-4", "crash")
	if f := w.phase("node-4", api.Failed); f.Status.Reason != api.WrongMachine {
		t.Errorf("with its cable swapped it is %s: %s", f.Status.Reason, f.Status.Message)
	}

	must(t, w.BindOne(w.ctx, machines["node-1"]))
	must(t, w.Lab.Fault("node-2", "none"))
	must(t, w.Lab.Fault("node-3", "none"))
	_, err = w.Fences.RequestCheck(w.ctx, "node-3", "mended") // otherwise the device is left alone for an hour
	must(t, err)
	w.cable("node-4", machines["node-4"])
	w.cable("node-5", machines["node-5"])
	w.retries("node-4")
	w.csiAddons().start(w)
	w.ended("node-4", api.Recovered)
	for i := range 6 {
		w.target(node(i), "True", api.DeviceAnswers, "")
		w.hostHA(node(i), api.HostHAAvailable)
	}
	w.unfenceable(p, nil)
	w.said("node-1", api.DeviceAnswers, "this node can be fenced again: ")
	for i, words := range []string{4: "off on", 5: ""} {
		w.words(node(i), words) // the other devices were only read
	}
}

// retries makes a person ask for a retry of a fence that was given up.
func (w *world) retries(node string) {
	w.t.Helper()
	ask := fmt.Sprintf(`{"spec":{"requests":{"retry":{"fenceNumber":1,"by":"lab-admin","at":%q}}}}`, time.Now().UTC().Format(time.RFC3339))
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/nodefences/"+node).Body([]byte(ask)).Do(w.ctx).Error())
}

// columns checks what `kubectl get fencetargets` prints of a node, but for the age of the check.
func (w *world) columns(node, names string, want ...any) {
	w.t.Helper()
	table := w.table("fencetargets/" + node)
	var header []string
	for i := range want {
		header = append(header, strings.ToUpper(table.ColumnDefinitions[i].Name))
	}
	cells := fmt.Sprintf("%v", table.Rows[0].Cells[:len(want)])
	if got := strings.Join(header, " "); got != names || cells != fmt.Sprintf("%v", want) {
		w.t.Errorf("it prints %s\n%v, want %s\n%v", got, cells, names, want)
	}
}

// table is what kubectl prints of an object of nodefence's, with -o wide.
func (w *world) table(path string) (table metav1.Table) {
	w.t.Helper()
	raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/nodefence.io/v1alpha1/"+path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(w.ctx)
	must(w.t, err)
	must(w.t, json.Unmarshal(raw, &table))
	return table
}

// cable binds a node to the BMC of a machine.
func (w *world) cable(node string, m rig.Machine) {
	w.t.Helper()
	m.Name = node
	must(w.t, w.Kube.CoreV1().ConfigMaps("nodefence-system").Delete(w.ctx, "fence-config-node-"+node, metav1.DeleteOptions{}))
	must(w.t, w.BindOne(w.ctx, m))
	secrets := w.Kube.CoreV1().Secrets("nodefence-devices")
	s, err := secrets.Get(w.ctx, "bmc-"+node, metav1.GetOptions{})
	must(w.t, err)
	s.Data["password"] = []byte(m.Password)
	_, err = secrets.Update(w.ctx, s, metav1.UpdateOptions{})
	must(w.t, err)
}

// target waits until a node's FenceTarget says so, with these words in its message.
func (w *world) target(node, status string, reason api.Reason, words string) {
	w.t.Helper()
	last := "nothing yet"
	w.until(fmt.Sprintf("FenceTarget %s to be %s %s", node, status, reason), func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, node)
		if err != nil || ft == nil {
			return false, nil
		}
		c := meta.FindStatusCondition(ft.Status.Conditions, api.Fenceable)
		if c == nil {
			return false, nil
		}
		if now := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message); now != last {
			last = now
			w.t.Logf("%s is %s", node, now)
		}
		return string(c.Status) == status && c.Reason == string(reason) && strings.Contains(c.Message, words), nil
	})
}

// hostHA waits until a node's FenceTarget has that state.
func (w *world) hostHA(node string, want api.HostHA) {
	w.t.Helper()
	w.until(fmt.Sprintf("FenceTarget %s to be %s", node, want), func() (bool, error) {
		ft, err := w.Fences.Target(w.ctx, node)
		return ft != nil && ft.Status.HostHA == want, err
	})
}

// unfenceable waits until the metric counts so.
func (w *world) unfenceable(p *rig.InProcess, want map[api.Reason]int) {
	w.t.Helper()
	w.until(fmt.Sprintf("the metric to be %v", want), func() (bool, error) {
		families, err := p.Registry.Gather()
		if err != nil {
			return false, err
		}
		got := map[api.Reason]int{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if n := int(m.GetGauge().GetValue()); f.GetName() == "nodefence_nodes_unfenceable" && n != 0 {
					got[api.Reason(m.GetLabel()[0].GetValue())] += n // of its two labels the first is reason
				}
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(want), nil
	})
}

// said waits for an Event on a node.
func (w *world) said(node string, reason api.Reason, words string) {
	w.t.Helper()
	w.until("an Event on "+node, func() (bool, error) {
		all, err := w.Kube.CoreV1().Events("default").List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + node})
		if err != nil {
			return false, nil
		}
		for _, e := range all.Items {
			if e.Reason == string(reason) && strings.Contains(e.Message, words) {
				return true, nil
			}
		}
		return false, nil
	})
}

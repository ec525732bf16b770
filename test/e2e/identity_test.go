package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	// boards is what a maker left in all its boards; sold is one that nobody knows for that.
	boards = "03000200-0400-0500-0006-000700080009"
	sold   = "4c4c4544-0043-3010-8052-b4c04f564231"
)

// TestTwoMachinesOfOneUUID: with the addresses of two such machines swapped nothing is cut, and
// both FenceTargets say why: for a board's default, and for a UUID that two nodes happen to have.
// With identity= each is fenced as itself, and a swapped cable is noticed (S11).
func TestTwoMachinesOfOneUUID(t *testing.T) {
	w := newWorld(t, 6, quick,
		"--system-uuid", "node-0="+boards+",node-1="+boards+",node-2="+sold+",node-3="+sold,
		"--bmc-uuid", "node-0="+boards+",node-1="+boards)
	machines, err := w.Lab.Machines()
	must(t, err)
	w.cable("node-0", machines["node-1"])
	w.cable("node-1", machines["node-0"])
	w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })
	for _, node := range []string{"node-0", "node-1"} {
		w.target(node, "False", api.NoIdentity, "it answers for machine "+boards+", and enrolled is "+boards+", which is a factory default that many machines have")
		w.target(node, "False", api.NoIdentity, "kubectl fence enrol "+node)
	}
	w.target("node-2", "False", api.NoIdentity, "by node node-3 too")
	w.target("node-3", "False", api.NoIdentity, "by node node-2 too")
	w.node("node-0", "crash")
	if f := w.phase("node-0", api.Failed); f.Status.Reason != api.WrongMachine || !strings.Contains(f.Status.Message, "which is a factory default") {
		t.Errorf("it is %s: %s", f.Status.Reason, f.Status.Message)
	}

	id2, id3 := machines["node-2"].SystemUUID, machines["node-3"].SystemUUID
	w.names("node-2", machines["node-3"], id2)
	w.names("node-3", machines["node-2"], id3)
	w.target("node-2", "False", api.WrongMachine, "it answers for machine "+id3+", enrolled is "+id2)
	w.target("node-3", "False", api.WrongMachine, "it answers for machine "+id2+", enrolled is "+id3)
	w.names("node-3", machines["node-3"], id3)
	w.names("node-2", machines["node-2"], id3)
	w.target("node-2", "False", api.BindingInvalid, "node node-3 has an identity= that is the machine of node node-2 too")
	w.names("node-2", machines["node-2"], strings.ReplaceAll(strings.ToUpper(id2), "-", ""))
	w.names("node-3", machines["node-3"], id3)
	w.target("node-2", "True", api.DeviceAnswers, "")
	w.target("node-3", "True", api.DeviceAnswers, "")
	w.node("node-2", "crash")
	w.ended("node-2", api.Recovered)
	w.node("node-3", "crash")
	w.ended("node-3", api.Recovered)
	for node, words := range map[string]string{"node-0": "", "node-1": "", "node-2": "off on", "node-3": "off on"} {
		w.words(node, words)
	}
}

// TestAMachineIDInDisguise: a node whose kubelet reports its machine-id in place of a UUID is not
// fenced by a BMC that names another machine, until a named person has enrolled what the BMC
// says, in that person's own name (S11, S20, S28). An enrolment that is not the machine's any
// more names the way to renew it.
func TestAMachineIDInDisguise(t *testing.T) {
	w := newWorld(t, 3, quick, "--system-uuid", "node-0=machine-id", "--bmc-uuid", "node-2="+sold)
	machines, err := w.Lab.Machines()
	must(t, err)
	w.start(func(o *local.Options) { o.CheckEvery = 6 * time.Second })
	bmc := machines["node-0"].SystemUUID
	w.target("node-0", "False", api.NoIdentity, "is the node's machine-id")
	w.target("node-1", "True", api.DeviceAnswers, "")
	w.target("node-2", "False", api.WrongMachine, "kubectl fence enrol node-2 renews ConfigMap fence-enrolled-node-2")

	refused := func(words string, args ...string) {
		t.Helper()
		if code, said := w.plugin(args...); code == 0 || !strings.Contains(said, words) {
			t.Errorf("%v: %d, %s, want %q", args, code, said, words)
		}
	}
	refused("is not the node's name", "enrol", "node-0", "--confirm", "node-1")
	w.cable("node-1", machines["node-0"])
	w.cable("node-0", machines["node-1"])
	w.target("node-0", "False", api.NoIdentity, "it answers for machine "+machines["node-1"].SystemUUID)
	refused("node node-1 reports that it is machine "+machines["node-1"].SystemUUID, "enrol", "node-0", "--confirm", "node-0")
	w.cable("node-0", machines["node-0"])
	w.cable("node-1", machines["node-1"])
	w.target("node-0", "False", api.NoIdentity, "it answers for machine "+bmc)
	w.target("node-1", "True", api.DeviceAnswers, "")
	for _, node := range []string{"node-0", "node-2"} {
		if code, said := w.plugin("enrol", node, "--confirm", node); code != 0 {
			t.Fatalf("enrol %s: %d, %s", node, code, said)
		}
		w.target(node, "True", api.DeviceAnswers, "")
	}
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(w.ctx, kube.EnrolledName("node-0"), metav1.GetOptions{})
	must(t, err)
	if d := cm.Data; d[kube.EnrolledIdentity] != bmc || d[kube.EnrolledBy] == "" || d[kube.EnrolledAt] == "" {
		t.Errorf("enrolled is %v", d)
	}
	cm.Data[kube.EnrolledIdentity], cm.Data[kube.EnrolledBy] = sold, "somebody"
	if _, err := maps.Update(w.ctx, cm, metav1.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "in one's own name") {
		t.Errorf("in another person's name: %v", err)
	}
	as := rest.CopyConfig(w.Config)
	as.Impersonate.UserName, as.Impersonate.Groups = "source-on-aws", []string{"system:masters", "nodefence-source"}
	source, err := kubernetes.NewForConfig(as)
	must(t, err)
	cm.Data[kube.EnrolledBy] = as.Impersonate.UserName
	if _, err := source.CoreV1().ConfigMaps(cm.Namespace).Update(w.ctx, cm, metav1.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "no identity in its place") {
		t.Errorf("as the source: %v", err)
	}
	w.node("node-0", "crash")
	w.ended("node-0", api.Recovered)
	w.words("node-0", "off on")
}

// names binds a node to a BMC that must answer for this machine.
func (w *world) names(node string, m rig.Machine, identity string) {
	w.t.Helper()
	w.cable(node, m)
	maps := w.Kube.CoreV1().ConfigMaps("nodefence-system")
	cm, err := maps.Get(w.ctx, "fence-config-node-"+node, metav1.GetOptions{})
	must(w.t, err)
	for key, text := range cm.Data {
		if strings.HasPrefix(key, "fence-method-") {
			cm.Data[key] = text + "identity=" + identity + "\n"
		}
	}
	_, err = maps.Update(w.ctx, cm, metav1.UpdateOptions{})
	must(w.t, err)
}

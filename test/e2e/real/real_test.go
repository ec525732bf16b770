// Package real runs whole incidents on real nodes: containerd, kubelets, pods, and OpenIPMI's ipmi_sim as BMCs.
package real

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// networks has the nodes of all labs of real machines.
const networks = "10.64.0.0/11"

// database is a StatefulSet whose pod appends to a file, on a folder that all nodes share, and writes each line
// through. Nothing but fencing keeps a second pod from writing there.
const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
        - name: db
          image: registry.lab/agent:1
          args: [write, /data/db]
          volumeMounts: [{name: data, mountPath: /data}]
          env:
            - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
            - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      volumes: [{name: data, hostPath: {path: /var/lib/volumes, type: Directory}}]
`

// world is a lab of real nodes, with nodefence as a process beside it and a database on it.
type world struct {
	*rig.Cluster
	t   *testing.T
	ctx context.Context
}

// newWorld skips the test unless make e2e-real runs it.
func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("NODEFENCE_REAL") == "" {
		t.Skip("real nodes need root and Debian packages: make e2e-real")
	}
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	t.Cleanup(cancel)
	before := lookAtHost(t)
	t.Cleanup(func() { before.compare(t) }) // after the end of the lab
	name := fmt.Sprintf("real-%d", os.Getpid())
	w := &world{rig.ForTest(ctx, t, rig.LabOptions{Name: name, Flags: []string{"--real", "--grace", "20s"}, Progress: os.Stderr}), t, ctx}
	w.NodeNetworks = networks
	must(t, w.Furnish(ctx, rig.Quick))
	log := &rig.Log{}
	p, err := w.StartProcess(ctx, t.TempDir(), log)
	must(t, err)
	t.Cleanup(p.Stop)
	t.Cleanup(func() { w.Tell(t, log) })
	must(t, w.Apply(ctx, database))
	return w
}

// TestANodeThatHangsIsFenced: a node stands still with its power on, its pod writes elsewhere, and the node comes back.
func TestANodeThatHangsIsFenced(t *testing.T) { // S1, S7, S22
	w := newWorld(t)
	victim := w.awaitDatabase("")
	boot := w.bootID(victim)
	must(t, w.Lab.Node(victim, "crash"))
	other := w.awaitDatabase(victim)
	f, err := w.Phase(w.ctx, victim, api.Finished)
	must(t, err)
	if f.Status.Outcome != api.Recovered {
		t.Errorf("outcome of the fence of %s: %s: %s", victim, f.Status.Outcome, f.Status.Message)
	}
	w.Lab.CheckWords(t, victim, "off on")
	must(t, w.Ready(w.ctx, victim, corev1.ConditionTrue))
	if now := w.bootID(victim); now == boot {
		t.Errorf("%s still has boot ID %s", victim, boot)
	}
	must(t, w.Unmarked(w.ctx, victim))
	w.checkWriters(victim, other)
}

// TestANodeThatIsCutOffIsFencedBeforeItsPodMoves: the pod of a node without a network writes until the power is cut.
func TestANodeThatIsCutOffIsFencedBeforeItsPodMoves(t *testing.T) { // S1
	w := newWorld(t)
	victim := w.awaitDatabase("")
	must(t, w.Lab.Node(victim, "partition"))
	other := w.awaitDatabase(victim)
	must(t, w.Lab.Node(victim, "heal"))
	_, err := w.Phase(w.ctx, victim, api.Finished)
	must(t, err)
	w.Lab.CheckWords(t, victim, "off on")
	must(t, w.Ready(w.ctx, victim, corev1.ConditionTrue))
	must(t, w.Unmarked(w.ctx, victim))
	w.checkWriters(victim, other)
}

// awaitDatabase waits until the database runs on another node than not, and returns the node.
func (w *world) awaitDatabase(not string) string {
	w.t.Helper()
	node, err := w.PodRunning(w.ctx, "db-0", not)
	must(w.t, err)
	return node
}

func (w *world) bootID(node string) string {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	return n.Status.NodeInfo.BootID
}

// checkWriters checks that the database wrote on these nodes, one after the other.
func (w *world) checkWriters(nodes ...string) {
	w.t.Helper()
	all, err := w.Lab.Writers()
	must(w.t, err)
	if len(all.Overlaps) > 0 {
		w.t.Errorf("two writers on one volume: %s", all.Overlaps)
	}
	var wrote []string
	for _, r := range all.Records {
		wrote = append(wrote, r.Node)
	}
	if fmt.Sprint(wrote) != fmt.Sprint(nodes) {
		w.t.Errorf("the database wrote on %v, want %v", wrote, nodes)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/test/lab/await"
	"github.com/nodefence/nodefence/test/lab/bringup"
)

// TestRestore: the cluster is as it was before, also in its resourceVersions and address. The
// machines are not, and they see the cluster as it is now.
func TestRestore(t *testing.T) {
	needLab(t)
	client := clientOf(t, strings.TrimSpace(lab(t, "up", "--nodes", "2")))
	label(t, client, "before")
	backup := filepath.Join(t.TempDir(), "etcd.db")
	lab(t, "snapshot", backup)
	for range 200 { // more than a control plane writes when it starts
		label(t, client, "after")
	}
	later := version(t, nodeOf(t, client, "node-0").ResourceVersion)
	lab(t, "node", "node-0", "power-loss")
	lab(t, "node", "node-0", "power-on")
	booted := machinesOf(t)["node-0"]

	lab(t, "restore", backup)
	node := nodeOf(t, client, "node-0")
	if node.Labels["written"] != "before" || version(t, node.ResourceVersion) >= later {
		t.Errorf("restored: label %q, version %s, and before it %d", node.Labels["written"], node.ResourceVersion, later)
	}
	if now := machinesOf(t)["node-0"]; now != booted {
		t.Errorf("the machine is in boot %s, and was in %s", now, booted)
	}
	await.That(t, "the kubelet to tell of the boot that was not restored", func() bool {
		return nodeOf(t, client, "node-0").Status.NodeInfo.BootID == booted
	})
	if status := lab(t, "status"); !strings.Contains(status, "up") {
		t.Errorf("status:\n%s", status)
	}
	if log := auditOf(t); strings.Count(log, `"kind":"Restored"`) != 1 {
		t.Errorf("the audit log does not say once that the cluster was restored:\n%s", log)
	}

	wrong := filepath.Join(t.TempDir(), "wrong.db")
	if err := os.WriteFile(wrong, bytes.Repeat([]byte("no snapshot"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := labCommand(t, "restore", wrong).CombinedOutput(); err == nil {
		t.Errorf("restored from what is no snapshot: %s", out)
	}
	lab(t, "status") // and the lab is unchanged
	lab(t, "down")
	if out, err := labCommand(t, "snapshot", backup).CombinedOutput(); err == nil || !strings.Contains(string(out), "no such lab") {
		t.Errorf("a snapshot of no lab: %v %s", err, out)
	}
}

func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func nodeOf(t *testing.T, client kubernetes.Interface, name string) *corev1.Node {
	t.Helper()
	node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// label writes a label to the node, even if others write at the same time.
func label(t *testing.T, client kubernetes.Interface, as string) {
	t.Helper()
	await.That(t, "the node to be free", func() bool {
		node := nodeOf(t, client, "node-0")
		node.Labels["written"] = as
		node.Labels["times"] = strconv.Itoa(rand.Int())
		_, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
		return err == nil
	})
}

func version(t *testing.T, of string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(of, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// machinesOf are the boots that the machines are in.
func machinesOf(t *testing.T) map[string]string {
	t.Helper()
	var boots map[string]string
	await.That(t, "both machines to run", func() bool {
		status, err := bringup.GetStatus(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		boots = map[string]string{}
		for _, n := range status.Nodes {
			if n.State == "running" {
				boots[n.Name] = n.BootID
			}
		}
		return len(boots) == 2
	})
	return boots
}

package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/lab/bringup"
)

// TestReset: the API server serves what was kept, objects that were changed or deleted included, and
// nothing else; the machines are new ones; and the control plane goes on.
func TestReset(t *testing.T) {
	needLab(t)
	client := clientOf(t, strings.TrimSpace(lab(t, "up", "--nodes", "0")))
	maps := client.CoreV1().ConfigMaps("default")
	write := func(name, text string) {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"text": text}}
		if _, err := maps.Update(t.Context(), object, metav1.UpdateOptions{}); err == nil {
			return
		}
		if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write("changed", "as kept")
	write("deleted", "as kept")
	lab(t, "keep")
	before := controlPlaneOf(t)

	lab(t, "reset", "--nodes", "2")
	first := machinesOf(t)["node-0"]
	write("changed", "later")
	write("new", "later")
	if err := maps.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	lab(t, "reset", "--nodes", "2")

	second := machinesOf(t)["node-0"]
	if second == first {
		t.Errorf("the machine is still in boot %s", first)
	}
	if log := auditOf(t); strings.Contains(log, first) || !strings.Contains(log, second) {
		t.Errorf("the audit log has the boot before the reset, or not the one after it:\n%s", log)
	}
	all, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for _, m := range all.Items {
		if text, ours := m.Data["text"]; ours {
			has = append(has, m.Name+" "+text)
		}
	}
	if got, want := strings.Join(has, ", "), "changed as kept, deleted as kept"; got != want {
		t.Errorf("after a reset there are %q, want %q", got, want)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "new", metav1.GetOptions{}); err == nil {
		t.Error("a namespace is left")
	}
	if after := controlPlaneOf(t); after != before {
		t.Errorf("the control plane is process %d, and was %d", after, before)
	}
	lab(t, "down")
}

// auditOf is the audit log of a lab's API server.
func auditOf(t *testing.T) string {
	t.Helper()
	var paths records
	if err := json.Unmarshal([]byte(lab(t, "records")), &paths); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(paths.Audit[len(paths.Audit)-1])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestKeepIsForLabsWithoutMachines: machines would be part of what is kept.
func TestKeepIsForLabsWithoutMachines(t *testing.T) {
	needLab(t)
	lab(t, "up", "--nodes", "1")
	if out, err := labCommand(t, "keep").CombinedOutput(); err == nil || !strings.Contains(string(out), "--nodes 0") {
		t.Errorf("keep of a lab with machines: %v %s", err, out)
	}
	if out, err := labCommand(t, "reset").CombinedOutput(); err == nil || !strings.Contains(string(out), "kept") {
		t.Errorf("reset of a lab that was not kept: %v %s", err, out)
	}
	lab(t, "down")
}

func controlPlaneOf(t *testing.T) int {
	t.Helper()
	status, err := bringup.GetStatus(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range status.Processes {
		if p.Name == bringup.ControlPlane && p.Alive {
			return p.PID
		}
	}
	t.Fatal("no control plane runs")
	return 0
}

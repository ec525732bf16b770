package examples

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// watcher is the example's PodTemplate.
func watcher(t *testing.T) corev1.PodTemplate {
	t.Helper()
	text, err := os.ReadFile("second-evidence.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var p corev1.PodTemplate
		if err := docs.Decode(&p); errors.Is(err, io.EOF) {
			t.Fatal("there is no PodTemplate")
		} else if err == nil && p.Kind == "PodTemplate" {
			return p
		}
	}
}

// TestTheWatcherTellsALivingNodeFromADeadOne runs its script on a folder.
func TestTheWatcherTellsALivingNodeFromADeadOne(t *testing.T) {
	c := watcher(t).Template.Spec.Containers[0]
	dir := t.TempDir()
	write := func(node string, n int) {
		if err := os.WriteFile(filepath.Join(dir, node), []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("dead", 1)
	done, stopped := make(chan struct{}), make(chan struct{})
	write("alive", 0)
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-tick.C:
				write("alive", n)
			}
		}
	}()
	defer func() { close(done); <-stopped }()
	for node, want := range map[string]int{"alive": 0, "dead": 1, "never-seen": 2} {
		cmd := exec.CommandContext(t.Context(), c.Command[0], append(c.Command[1:], c.Args...)...)
		cmd.Env = append(os.Environ(), "SHARED="+dir, "PAUSE=0.1", "NODEFENCE_NODE="+node)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit %d, want %d", node, got, want)
		}
	}
}

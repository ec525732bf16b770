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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// watcher is the example's PodTemplate.
func watcher(t *testing.T) corev1.PodTemplate {
	t.Helper()
	text, err := os.ReadFile("activity-checks.yaml")
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

// TestTheWatcherTellsALivingNodeFromADeadOne runs its script on a folder. The pauses
// between its looks are a program of the test's, and a node that lives writes in one
// of them: so how fast this machine is decides nothing.
func TestTheWatcherTellsALivingNodeFromADeadOne(t *testing.T) {
	c := watcher(t).Template.Spec.Containers[0]
	for name, tc := range map[string]struct {
		wrote  bool // there is a heartbeat from before
		writes int  // the pause in which the next one comes; 0: none
		want   int
		pauses string // one mark for each
	}{
		"writes at once":                  {wrote: true, writes: 1, want: 0, pauses: "."},
		"writes in the last pause":        {wrote: true, writes: 6, want: 0, pauses: "......"},
		"writes no more":                  {wrote: true, want: 1, pauses: "......"},
		"never wrote":                     {want: 2},
		"its file is there only later on": {writes: 1, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			bin, shared := t.TempDir(), t.TempDir()
			script := "#!/bin/sh\nprintf . >>\"$PAUSES\"\n[ \"$(wc -c <\"$PAUSES\")\" -ne \"$WRITES\" ] || echo 2 >\"$SHARED/node\"\n"
			if err := os.WriteFile(filepath.Join(bin, "sleep"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			if tc.wrote {
				if err := os.WriteFile(filepath.Join(shared, "node"), []byte("1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			pauses := filepath.Join(bin, "pauses")
			cmd := exec.CommandContext(t.Context(), c.Command[0], append(c.Command[1:], c.Args...)...)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SHARED="+shared,
				"PAUSES="+pauses, "WRITES="+strconv.Itoa(tc.writes), "NODEFENCE_NODE=node")
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tc.want {
				t.Errorf("exit %d, want %d", got, tc.want)
			}
			if got, _ := os.ReadFile(pauses); string(got) != tc.pauses {
				t.Errorf("pauses %q, want %q", got, tc.pauses)
			}
		})
	}
}

package pages

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhoStillNeedsWhatIsAdopted: the command by which pages say that rights and Secrets may go names
// the fences that are open and have a device by another project's object, and no other (S25: what was
// begun runs to its end).
func TestWhoStillNeedsWhatIsAdopted(t *testing.T) {
	fence := func(name string, phase api.Phase, adopted *api.AdoptedDevice) api.NodeFence {
		f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.Status.Phase, f.Status.FenceNumber = phase, 1
		f.Status.Decision.Devices = []api.Binding{{}, {Adopted: adopted}}
		return f
	}
	other := &api.AdoptedDevice{Kind: "FenceAgentsRemediationTemplate", Name: "t"}
	l := api.NodeFenceList{Items: []api.NodeFence{{}, fence("over", api.Finished, other), fence("own", api.Fencing, nil)}}
	want := ""
	for _, p := range api.Phases {
		if f := fence(string(p), p, other); f.Open() {
			l.Items = append(l.Items, f)
			want += f.Name + "\n"
		}
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for page, blocks := range Shells(all(t)) {
		commands, err := Commands(t.Context(), blocks)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if c.Args[0] != "jq" || !strings.Contains(c.String(), ".adopted") {
				continue
			}
			n++
			cmd := exec.CommandContext(t.Context(), "jq", c.Args[1:]...)
			cmd.Stdin = bytes.NewReader(text)
			if said, err := cmd.CombinedOutput(); err != nil || string(said) != want {
				t.Errorf("%s: %v: %q, want %q", page, err, said, want)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d pages say who still needs what is adopted, want 2", n)
	}
}

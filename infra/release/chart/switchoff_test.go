package chart

import (
	"strings"
	"testing"
)

// TestFarIsSwitchedOffBeforeItsRights: the settings by which FAR.md has the functions adopt nothing more
// leave the component's rights, by which an open fence reads its device.
func TestFarIsSwitchedOffBeforeItsRights(t *testing.T) {
	got, err := render(loaded(t), "default", `components: {far: {enabled: true}}
settings:
  gate: {NODEFENCE_ADOPT: ""}
  isolate: {NODEFENCE_ADOPT: ""}
  power: {NODEFENCE_ADOPT: ""}
`)
	must(t, err)
	for part, want := range map[string]string{"gate": "", "isolate": "", "power": "", "adopt": "far"} {
		if have := variable(got, part, "NODEFENCE_ADOPT"); have != want {
			t.Errorf("%s has NODEFENCE_ADOPT=%q, want %q", part, have, want)
		}
	}
	roles := 0
	for _, o := range got {
		if o.GetKind() == "Role" && strings.HasPrefix(o.GetName(), "nodefence-far") {
			roles++
		}
	}
	if roles == 0 {
		t.Error("the rights are gone")
	}
}

//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"

	"github.com/nodefence/nodefence/test/golden"
)

// swept is the version of the agents that agents.txt describes.
const swept = "4.12.1"

const sweptFile = "agents.txt"

// TestSweep: each agent that is installed has a driver or a reason why not. Another version than
// the one that was reviewed may have new parameters that run or write something. After a review
// of it, change the version here and the lists in denied.go and fit.go, and run with -update.
func TestSweep(t *testing.T) {
	needs(t, "fence-agents", "fence_apc")
	all, err := filepath.Glob(installed + "/fence_*")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range all {
		k, err := Any(filepath.Base(path), installed)
		switch {
		case err == nil:
			b.WriteString(k.Name + ":" + params(k) + takes(k) + "\n")
		case strings.Contains(err.Error(), " is refused: "):
			b.WriteString(err.Error() + "\n")
		default:
			t.Error(err)
		}
	}
	library, _ := os.ReadFile("/usr/share/fence/fencing.py")
	if v := regexp.MustCompile(`RELEASE_VERSION = "(.*)"`).FindSubmatch(library); len(v) < 2 || string(v[1]) != swept {
		t.Skipf("the agents here are %q, and %s is about %s", v, sweptFile, swept)
	}
	golden.File(t, sweptFile, b.String())
}

// takes is what the agent cuts off, if that is not the power.
func takes(k device.Kind) string {
	if k.Scope == device.ScopePower {
		return ""
	}
	return " (" + string(k.Scope) + ")"
}

// params says in short which parameters are required, are secret, or say which machine.
func params(k device.Kind) string {
	var b strings.Builder
	for _, p := range k.Params {
		b.WriteString(" " + p.Name)
		if p.Required {
			b.WriteString("!")
		}
		if p.Secret {
			b.WriteString("(secret)")
		}
		if p.Machine {
			b.WriteString("(machine)")
		}
	}
	return b.String()
}

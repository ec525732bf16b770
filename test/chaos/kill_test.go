package chaos

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestKilledProcess ends nodefence-local with SIGKILL in five phases of five
// fences. A new process, on the same data, goes on; each time there is one off,
// one on, and never two writers.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	defer cancel()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("kill-%d", os.Getpid()), Nodes: 6})
	lab := c.Lab
	must(t, c.Furnish(ctx, sweepPolicy))
	must(t, c.Apply(ctx, rig.StatefulSet("db", 1)))
	var log bytes.Buffer
	dir := t.TempDir()
	p, err := c.StartProcess(ctx, dir, &log)
	must(t, err)
	defer func() { p.Stop() }()
	told := map[string]string{}
	for _, phase := range []api.Phase{api.Pending, api.Isolating, api.Fencing, api.Releasing, api.PoweringOn} {
		victim, err := c.PodRunning(ctx, "db-0", "")
		must(t, err)
		before := int64(0)
		if f, err := c.Fences.Fence(ctx, victim); err == nil && f != nil {
			before = f.Status.FenceNumber
		}
		must(t, lab.Node(victim, "crash"))
		must(t, rig.Until(ctx, "the fence to be "+string(phase), func() (bool, error) {
			f, err := c.Fences.Fence(ctx, victim)
			return f != nil && f.Status.FenceNumber > before && reached(f.CurrentPhase(), phase), err
		}))
		p.Kill()
		p, err = c.StartProcess(ctx, dir, &log)
		must(t, err)
		f, err := c.Phase(ctx, victim, api.Finished)
		must(t, err)
		told[victim] = trim(told[victim] + " off on")
		if words, err := lab.Words(victim); err != nil || words != told[victim] {
			t.Errorf("killed in %s: the BMC of %s was told %q, want %q (%v)\n%s", phase, victim, words, told[victim], err, rig.Story(f))
		}
		if _, err := c.PodRunning(ctx, "db-0", victim); err != nil {
			t.Errorf("killed in %s: %v", phase, err)
		}
	}
	if _, err := lab.OneWriter(); err != nil {
		t.Error(err)
	}
}

// reached: a short phase may be over before it is seen.
func reached(now, want api.Phase) bool {
	at := func(p api.Phase) (i int) {
		for i = range api.Phases {
			if api.Phases[i] == p {
				return i
			}
		}
		return i
	}
	return at(now) >= at(want)
}

func trim(s string) string { return string(bytes.TrimSpace([]byte(s))) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

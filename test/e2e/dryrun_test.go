package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestDryRunTouchesNothing: the record says since when the fence would run, and nothing is placed, switched or
// started for it. It ends when the node heals.
func TestDryRunTouchesNothing(t *testing.T) {
	w := newWorld(t, 3, quick+"mode: DryRun\n")
	w.start(nil)
	w.node("node-1", "crash")
	w.hasMessage("node-1", "would begin; policy default (generation 1) is in DryRun")
	led, err := w.Fences.Ledger(w.ctx)
	must(t, err)
	if st := led.Status; len(st.DryRuns) != 1 || len(st.Reservations)+len(st.Admitted)+len(st.UnderWay)+len(st.Checking) > 0 {
		t.Errorf("dry runs %+v, slots %+v, begun %+v, under way %+v, checks %+v", st.DryRuns, st.Reservations, st.Admitted, st.UnderWay, st.Checking)
	}
	if f, err := w.Fences.Fence(w.ctx, "node-1"); err != nil || f.Status.WouldBeginAt == nil {
		t.Errorf("%v: it does not say since when it would run", err)
	}
	w.words("node-1", "")
	w.unmarked("node-1")
	if jobs := w.jobsOfChecks(); len(jobs) > 0 {
		t.Errorf("%d Jobs were begun", len(jobs))
	}
	w.node("node-1", "power-loss")
	w.node("node-1", "power-on")
	must(t, w.Ready(w.ctx, "node-1", corev1.ConditionTrue))
	if f := w.ended("node-1", api.HealedBeforeFence); f.Status.WouldBeginAt != nil {
		t.Errorf("it ended, and would run since %s", f.Status.WouldBeginAt)
	}
}

// hasMessage waits until the record of a node's fence has a message.
func (w *world) hasMessage(node, message string) {
	w.t.Helper()
	said := ""
	w.until(node+" to say: "+message, func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if f != nil && f.Status.Message != said {
			said = f.Status.Message
			w.t.Logf("%s: %s", node, said)
		}
		return said == message, err
	})
}

// TestADryRunOfAStorm: four of ten nodes are down, and two are allowed. The four records, the policy's status and the
// plan give the numbers of the storm.
func TestADryRunOfAStorm(t *testing.T) {
	w := newWorld(t, 10, "mode: DryRun\nlimits: {maxUnhealthy: 2, maxConcurrent: 9, stormCoolDown: 1s}\n")
	w.start(nil)
	dead := []string{"node-0", "node-1", "node-2", "node-3"}
	const storm = "would be held by TooManyUnhealthy: policy default (generation 1): 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2); policy default (generation 1) is in DryRun"
	w.allAtOnce(dead, "crash")
	for _, n := range dead {
		w.hasMessage(n, storm)
	}
	w.until("status.held to say the same", func() (bool, error) {
		all, err := w.Fences.Policies(w.ctx)
		if err != nil || len(all) != 1 || len(all[0].Status.Held) != len(dead) {
			return false, err
		}
		for _, h := range all[0].Status.Held {
			if h.Reason != api.DryRun || h.Message != storm {
				return false, nil
			}
		}
		return true, nil
	})
	if _, said := w.plugin("plan", "--all"); strings.Count(said, storm) != len(dead) || strings.Count(said, "would be held by TooManyUnhealthy: ") != 10 {
		t.Errorf("kubectl fence plan --all says:\n%s", said)
	}
	if _, said := w.plugin("why", dead[0]); !strings.Contains(said, storm) {
		t.Errorf("kubectl fence why says:\n%s", said)
	}
}

// TestDryRunBesideEnforce: four nodes die one after the other, and stay dead; two slots are free. In DryRun the same
// nodes begin, and the others wait for the same reason with the same numbers, as under Enforce.
func TestDryRunBesideEnforce(t *testing.T) {
	t.Parallel()
	waves := map[string]*[4]string{"Enforce": {}, "DryRun": {}}
	t.Run("wave", func(t *testing.T) {
		for mode, wave := range waves {
			t.Run(mode, func(t *testing.T) {
				w := newWorld(t, 10, "mode: "+mode+"\npower: {offTimeout: 5m}\nlimits: {maxUnhealthy: 5, maxConcurrent: 2, stormCoolDown: 1s}\n")
				w.start(nil)
				for i := range wave {
					node := fmt.Sprint("node-", i)
					must(t, w.Lab.Fault(node, "hang"))
					w.node(node, "crash")
					w.until(node+" to begin, or to wait for a slot", func() (bool, error) {
						f, err := w.Fences.Fence(w.ctx, node)
						wave[i] = answerOf(f)
						return wave[i] == "begins" || strings.HasPrefix(wave[i], string(api.TooManyConcurrent)), err
					})
				}
			})
		}
	})
	if d := cmp.Diff(waves["Enforce"], waves["DryRun"]); d != "" || waves["Enforce"][0] != "begins" || waves["Enforce"][3] == "begins" {
		t.Errorf("Enforce - and DryRun + differ: %s\n%v", d, waves["Enforce"])
	}
}

// answerOf is the gate's answer to a fence: it begins, or is held for a reason, with the numbers.
func answerOf(f *api.NodeFence) string {
	switch {
	case f == nil:
		return ""
	case f.Status.WouldBeginAt != nil, f.Status.DecidedAt != nil:
		return "begins"
	case f.Status.Reason != api.DryRun:
		return fmt.Sprintf("%s: %s", f.Status.Reason, f.Status.Message)
	}
	said, _, _ := strings.Cut(strings.TrimPrefix(f.Status.Message, "would be held by "), "; ")
	return said
}

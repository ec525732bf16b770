package main

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// sized are settings as they are read.
func sized(t *testing.T, nodes, length, seed string) settings {
	t.Helper()
	s, err := settingsOf([]string{"SOAK_NODES=" + nodes, "SOAK_FOR=" + length, "SOAK_SEED=" + seed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlanFollowsFromItsSeed: one seed has one plan, and another seed another one.
func TestPlanFollowsFromItsSeed(t *testing.T) {
	one, other := planOf(sized(t, "200", "1h", "7")), planOf(sized(t, "200", "1h", "8"))
	if again := planOf(sized(t, "200", "1h", "7")); !reflect.DeepEqual(one, again) {
		t.Errorf("seed 7 has two plans, of %d and %d faults", len(one), len(again))
	}
	if reflect.DeepEqual(one, other) {
		t.Error("seeds 7 and 8 have the same plan")
	}
}

// TestPlanLeavesEnoughNodesWell: never are more nodes unwell than allowed, and no node has two
// faults at once.
func TestPlanLeavesEnoughNodesWell(t *testing.T) {
	for _, size := range [][2]string{{"10", "2m"}, {"20", "4m"}, {"200", "1h"}} {
		for _, seed := range []string{"1", "2", "3", "4", "5"} {
			s := sized(t, size[0], size[1], seed)
			plan := planOf(s)
			if reached := mostAtOnce(t, plan); reached != s.most {
				t.Errorf("%s nodes, seed %s: %d nodes are unwell at once; allowed, and to be reached, are %d", size[0], seed, reached, s.most)
			}
			if s.most*2 >= s.nodes || s.concurrent >= s.most {
				t.Errorf("%d of %d nodes unwell look as if we were cut off; with maxConcurrent %d none has to wait", s.most, s.nodes, s.concurrent)
			}
		}
	}
}

// mostAtOnce is how many nodes are unwell at once.
func mostAtOnce(t *testing.T, plan []fault) (most int) {
	t.Helper()
	for i, f := range plan {
		n := 0
		for _, g := range plan[:i+1] {
			under := g.at <= f.at && f.at < g.at+g.takes()
			if under && g.unwell() {
				n++
			}
			if under && f.node >= 0 && g.node == f.node && !reflect.DeepEqual(g, f) {
				t.Errorf("%s begins during %s", f, g)
			}
		}
		most = max(most, n)
	}
	return most
}

// TestPlanHasEachKind: a run of an hour has each fault, and each of a BMC.
func TestPlanHasEachKind(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range planOf(sized(t, "200", "1h", "1")) {
		seen[string(f.kind)], seen[f.bmc] = true, true
		if f.node >= 200 || f.at >= time.Hour || f.unwell() && f.bmc != "" && f.bmcHold == 0 {
			t.Errorf("%+v", f)
		}
	}
	for _, want := range append([]string{"hang", "slow=6s", "refuse", "wrong-password", "reset-connection"}, kindWords()...) {
		if !seen[want] {
			t.Errorf("no %s in an hour", want)
		}
	}
}

// kindWords are the kinds as words.
func kindWords() (words []string) {
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return words
}

// TestShortRunsHaveNoLockout: a wrong password locks a BMC for longer than a short run lasts.
func TestShortRunsHaveNoLockout(t *testing.T) {
	if i := slices.IndexFunc(planOf(sized(t, "200", "19m", "1")), func(f fault) bool { return f.bmc == "wrong-password" }); i >= 0 {
		t.Errorf("fault %d of a run of 19m is a wrong password", i)
	}
}

// TestKillsLeaveALongStretch: processes are killed in the first quarter, and once near the end.
func TestKillsLeaveALongStretch(t *testing.T) {
	for _, length := range []string{"2m", "4m", "1h", "24h"} {
		s := sized(t, "20", length, "3")
		early, late := 0, 0
		for _, f := range planOf(s) {
			switch {
			case f.kind != kill:
			case f.at < s.length/4:
				early++
			case f.at == s.length*19/20:
				late++
			default:
				t.Errorf("%s: %s", length, f)
			}
		}
		if early == 0 || late != 1 {
			t.Errorf("%s: %d kills in the first quarter, %d near the end", length, early, late)
		}
	}
}

// TestPausesAreNoLoss: while the control plane stands still, no node is silent for so long that
// it counts as lost, or that its device is asked.
func TestPausesAreNoLoss(t *testing.T) {
	for _, nodes := range []string{"20", "200"} {
		s := sized(t, nodes, "1h", "1")
		flag := map[string]time.Duration{}
		for i, f := range s.labFlags() {
			if d, err := time.ParseDuration(s.labFlags()[min(i+1, len(s.labFlags())-1)]); err == nil {
				flag[f] = d
			}
		}
		if silent := longestPause + 2*flag["--lease"]; silent >= flag["--grace"] {
			t.Errorf("%s nodes: a Lease may stand still for %s, and the grace period is %s", nodes, silent, flag["--grace"])
		}
		if silent := longestPause + flag["--status-period"]; silent >= flag["--grace"] {
			t.Errorf("%s nodes: a node whose Lease stands still may report nothing for %s, and the grace period is %s", nodes, silent, flag["--grace"])
		}
	}
}

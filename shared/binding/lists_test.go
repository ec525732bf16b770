package binding

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestAKeptListIsWhatListingGives, over many clusters, whatever has changed since the ConfigMaps were
// listed (S11: the device is the node's own): nodes of which nothing is kept get the same.
func TestAKeptListIsWhatListingGives(t *testing.T) {
	used, listed := 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t)
		w.kept = &Lists{}
		w.settle(r)
		for step := range 12 {
			w.seen()
			for _, name := range nodeNames {
				for what, ask := range map[string]func(string) string{"a fence": w.bind, "a check": w.check} {
					if what == "a check" && w.nodes[name] == nil {
						continue
					}
					before := w.lists
					clear(w.targets)
					got := ask(name)
					if w.lists == before {
						used++
					} else {
						listed++
					}
					if want := w.without(func() string { return ask(name) }); got != want {
						t.Fatalf("seed %d, step %d: %s of %s gets\n%s\nwant\n%s", seed, step, what, name, got, want)
					}
				}
			}
			w.change(r)
		}
	}
	t.Logf("%d by the list that was kept, %d by one of their own", used, listed)
	if used < 500 || listed < 500 {
		t.Error("too few of one kind for a test")
	}
}

// TestManyNodesAreResolvedByOneList: as long as it counts. A check that finds a binding kept drops one that was not used for a while.
func TestManyNodesAreResolvedByOneList(t *testing.T) {
	w := newWorld(t)
	w.kept = &Lists{}
	has := func(name string) {
		n := node(name, "uid-"+name, "")
		w.nodes[name] = &n
		w.put(enrol(name, "uid-"+name, ""))
		w.put(write("fence-config-node-"+name, "config.properties", "node_name="+name+"\npower_management=m", "fence-method-m", "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip=10.0.0.1"+name))
	}
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		has(name)
	}
	w.seen()
	asks := func(when string, want int, ask func(string) string, names ...string) {
		t.Helper()
		was := w.lists
		for _, name := range names {
			ask(name)
		}
		if w.lists-was != want {
			t.Errorf("%s: %d lists of the ConfigMaps, want %d", when, w.lists-was, want)
		}
	}
	asks("the first checks", 1, w.check, "1", "2", "3")
	asks("a fence of a node that was not checked", 0, w.bind, "4")
	has("6")
	w.seen()
	asks("another node", 1, w.check, "4", "6")
	w.configs.ObservedAt.Time = w.configs.ObservedAt.Add(-31 * time.Second)
	asks("nobody sees the ConfigMaps", 1, w.check, "5")
	w.seen()
	delete(w.targets, "5")
	asks("one that was kept by ConfigMaps of before", 0, w.check, "1")
	asks("a binding that was kept", 0, w.check, "1")
	asks("soon after it", 0, w.check, "5")
	long := func() { w.kept.usedAt = w.kept.usedAt.Add(-unusedFor) }
	long()
	delete(w.targets, "5")
	asks("a list that nobody has used for a while", 0, w.check, "5")
	long()
	asks("a binding that was kept, long after the list was used", 0, w.check, "5")
	delete(w.targets, "5")
	asks("after it", 1, w.check, "5")
	delete(w.nodes, "3")
	asks("a node that is missing", 1, w.bind, "3")
}

// TestAnAgentThatDoesNotTellOnce: the list is used on, no device of two nodes is missed (S11: the device is the
// node's own), and nothing is kept that the agent's silence decided.
func TestAnAgentThatDoesNotTellOnce(t *testing.T) {
	w := newWorld(t)
	w.kept, w.agents = &Lists{}, pduDir(t)
	for _, name := range []string{"1", "2", "3"} {
		n := node(name, "uid-"+name, "")
		w.nodes[name] = &n
		w.put(enrol(name, "uid-"+name, ""))
	}
	w.put(write("fence-config-node-1", "config.properties", "node_name=1\npower_management=m", "fence-method-m", "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip=10.0.0.1"))
	for _, name := range []string{"2", "3"} {
		w.put(write("fence-config-node-"+name, "config.properties", "node_name="+name+"\npower_management=m", "fence-method-m", "agent_name=fence_pdu\nip=10.0.0.9\nplug=7\nsecret=s"))
	}
	w.seen()
	agent := filepath.Join(w.agents, "fence_pdu")
	if err := os.Chmod(agent, 0o600); err != nil {
		t.Fatal(err)
	}
	w.check("1")
	if is := w.targets["1"].Status.Binding; is != nil {
		t.Errorf("kept while an agent did not tell: %+v", is)
	}
	if err := os.Chmod(agent, 0o700); err != nil {
		t.Fatal(err)
	}
	was := w.lists
	for _, name := range []string{"2", "3"} {
		if got := w.check(name); !strings.Contains(got, "has the same device address") {
			t.Errorf("node %s: %s", name, got)
		}
	}
	w.check("1")
	if is := w.targets["1"].Status.Binding; is == nil || w.lists > was {
		t.Errorf("the agent tells again: %+v is kept, after %d more lists", is, w.lists-was)
	}
}

// TestNobodyWaitsForAListForEver: a caller leaves when its time is over.
func TestNobodyWaitsForAListForEver(t *testing.T) {
	l := &Lists{}
	end, err := l.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.begin(over); err == nil {
		t.Error("two list at once")
	}
	end()
	if end, err = l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	end()
}

// TestWhoWaitsTakesTheListOfTheOther, if it was begun after the wait was, also where the ledger has no
// version by which it would count.
func TestWhoWaitsTakesTheListOfTheOther(t *testing.T) {
	l := &Lists{}
	early := l.count(false)
	number := l.count(true)
	late := l.count(false)
	l.keep(Resolver{}.snapshot([]corev1.ConfigMap{write("fence-config-node-a")}), number, time.Time{})
	if is := l.after(early); is == nil || len(is.all) != 1 {
		t.Error("a list that was begun while somebody waited is not taken")
	}
	if l.after(late) != nil {
		t.Error("a list that was begun before the wait is taken")
	}
}

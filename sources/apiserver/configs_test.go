package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// TestWhatChangesTheVersion of the ConfigMaps: everything that may bind another node's
// machine, and no new node with a machine of its own (S11).
func TestWhatChangesTheVersion(t *testing.T) {
	rv := 0
	config := func(name string) func(*configStore) {
		return func(c *configStore) {
			rv++
			c.saw(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: fmt.Sprint(rv)}})
		}
	}
	enrolled := func(node, uuid, provider string) func(*configStore) {
		return func(c *configStore) {
			rv++
			cm := enrolmentOf("uid-"+node, uuid)
			cm.Name, cm.ResourceVersion, cm.Labels = kube.EnrolledName(node), fmt.Sprint(rv), map[string]string{kube.EnrolledLabel: "true"}
			cm.Data["node_name"], cm.Data["provider_id"] = node, provider
			c.saw(cm)
		}
	}
	gone := func(name string) func(*configStore) { return func(c *configStore) { c.gone(name) } }
	for name, c := range map[string]struct {
		before, after []func(*configStore)
		changes       bool
	}{
		"a ConfigMap is created":              {after: []func(*configStore){config("x")}, changes: true},
		"a ConfigMap is changed":              {before: []func(*configStore){config("x")}, after: []func(*configStore){config("x")}, changes: true},
		"a ConfigMap is deleted":              {before: []func(*configStore){config("x")}, after: []func(*configStore){gone("x")}, changes: true},
		"a node is enrolled":                  {before: []func(*configStore){enrolled("a", "1", "")}, after: []func(*configStore){enrolled("b", "2", "")}},
		"a node's enrolment is touched":       {before: []func(*configStore){enrolled("a", "1", "")}, after: []func(*configStore){enrolled("a", "1", "")}},
		"a node of the same machine":          {before: []func(*configStore){enrolled("a", "1", "")}, after: []func(*configStore){enrolled("b", "1", "")}, changes: true},
		"one in another spelling":             {before: []func(*configStore){enrolled("a", "00112233-4455-6677-8899-aabbccddeeff", "")}, after: []func(*configStore){enrolled("b", "33221100554477668899AABBCCDDEEFF", "")}, changes: true},
		"a third one":                         {before: []func(*configStore){enrolled("a", "1", ""), enrolled("b", "1", "")}, after: []func(*configStore){enrolled("c", "1", "")}, changes: true},
		"one of them goes":                    {before: []func(*configStore){enrolled("a", "1", ""), enrolled("b", "1", "")}, after: []func(*configStore){gone(kube.EnrolledName("b"))}, changes: true},
		"a node of the same instance":         {before: []func(*configStore){enrolled("a", "1", "aws:///z/i-1")}, after: []func(*configStore){enrolled("b", "2", "aws:///y/i-1")}, changes: true},
		"a node of another instance":          {before: []func(*configStore){enrolled("a", "1", "aws:///z/i-1")}, after: []func(*configStore){enrolled("b", "2", "aws:///z/i-2")}},
		"the first node of a cloud":           {before: []func(*configStore){enrolled("a", "1", "")}, after: []func(*configStore){enrolled("b", "2", "aws:///z/i-2")}, changes: true},
		"something comes and goes, and again": {before: []func(*configStore){config("x")}, after: []func(*configStore){enrolled("b", "2", ""), gone(kube.EnrolledName("b"))}},
	} {
		s := newConfigStore()
		enrolled("z", "9", "")(s)
		for _, do := range c.before {
			do(s)
		}
		was := s.now()
		for _, do := range c.after {
			do(s)
		}
		if got := s.now(); (got != was) != c.changes {
			t.Errorf("%s: changes is %t", name, !c.changes)
		}
		again := newConfigStore()
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.all))) {
			again.saw(s.all[name])
		}
		if again.now() != s.now() {
			t.Errorf("%s: a source that begins anew comes to another version", name)
		}
	}
}

// TestTheLedgerHasTheVersion within moments of a change; none while nobody watches; and the
// same from a source that begins anew.
func TestTheLedgerHasTheVersion(t *testing.T) {
	f := newFakeAPI(t)
	f.set(ledgerURL, map[string]any{"metadata": map[string]any{"name": api.LedgerName}})
	s, _ := startWith(t, f, Options{Resync: time.Hour})
	until := func(is func(version string) bool) (version string) {
		f.picture(t, func(api.LeasePicture) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			version = f.configs
			return is(version)
		})
		return version
	}
	first := until(func(v string) bool { return v != "" })
	f.set(mapsURL, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "fence-config-default"}, Data: map[string]string{"config.properties": "x"}})
	second := until(func(v string) bool { return v != "" && v != first })
	f.forbid(mapsURL)
	f.cutWatches(mapsURL)
	until(func(v string) bool { return v == "" })
	f.forbid("")
	until(func(v string) bool { return v == second })
	if other, _ := startWith(t, f, Options{Resync: time.Hour}); other == s {
		t.Fatal("one source")
	}
	f.set(mapsURL, leftOf("new", 0))
	if got := until(func(v string) bool { return v != "" }); got != second {
		t.Errorf("version %s, want %s", got, second)
	}
}

// TestANewVersionIsWrittenAtOnce, and not with the next picture.
func TestANewVersionIsWrittenAtOnce(t *testing.T) {
	s := asleep(t, sec(30))
	s.leases.Resume(sec(30))
	p, _ := s.toKeep(false)
	s.leases.Kept(p.LeasePicture)
	s.configs.keep(s.configsSeen(sec(30)))
	if _, keep := s.toKeep(false); keep {
		t.Error("written though nothing changed")
	}
	s.configs.saw(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	if _, keep := s.toKeep(false); !keep {
		t.Error("a change is not written")
	}
	s.configs.keep(s.configsSeen(sec(30)))
	if s.watchEnded(enrolments); !s.configs.differs(s.configsSeen(sec(30))) {
		t.Error("that nobody watches is not written")
	}
}

// TestATurnSaysTheEnrolment as the source has seen it, so that a check need not read it.
func TestATurnSaysTheEnrolment(t *testing.T) {
	s := asleep(t, sec(30))
	s.enrol.begin()
	cm := leftOf("a", 0)
	cm.ResourceVersion = "7"
	s.enrol.saw(cm)
	got := s.enrol.versions([]api.NodeTurn{{NodeName: "a", Enrolment: "old"}, {NodeName: "b"}})
	if d := cmp.Diff([]api.NodeTurn{{NodeName: "a", Enrolment: "7"}, {NodeName: "b"}}, got); d != "" {
		t.Error(d)
	}
}

// TestOtherConfigMapsMakeNodesUrgent: each node whose devices were kept by other ConfigMaps
// is asked for once, soon, and not again if that does not help. A node of which no devices are kept is asked for once
// the ConfigMaps change: what kept them from being kept may be mended.
func TestOtherConfigMapsMakeNodesUrgent(t *testing.T) {
	s := newTargetStore()
	s.begin(time.Hour, nil)
	s.known()
	kept := func(node, version string, checked float64) {
		ft := targetIn(node, string(api.DeviceAnswers), checked)
		if version != "" {
			ft.Status.Binding = &api.TargetBinding{ConfigsVersion: version}
		}
		s.saw(node, viewOfTarget(ft))
	}
	free := []freeNode{{"old", "node-old"}, {"now", "node-now"}, {"none", "node-none"}}
	for node, version := range map[string]string{"old": "1", "now": "2", "none": ""} {
		kept(node, version, 0)
	}
	urgent := func(now time.Time) (all []string) {
		for _, c := range s.candidatesLocked(free) {
			if s.pace.Urgent(c, now) {
				all = append(all, c.Node)
			}
		}
		return all
	}
	if got := urgent(sec(10)); got != nil {
		t.Errorf("before the version is known: %v", got)
	}
	s.configured(&api.ConfigsSeen{Version: "2"}, sec(10))
	if d := cmp.Diff([]string{"old"}, urgent(sec(10))); d != "" {
		t.Error(d)
	}
	kept("old", "1", 20) // by a program that comes to another version
	s.configured(&api.ConfigsSeen{Version: "2"}, sec(20))
	s.configured(nil, sec(21))
	if got := urgent(sec(30)); got != nil {
		t.Errorf("looked at since: %v", got)
	}
	s.configured(&api.ConfigsSeen{Version: "3"}, sec(40))
	if d := cmp.Diff([]string{"old", "now", "none"}, urgent(sec(40))); d != "" {
		t.Error(d)
	}
	if kept("none", "", 50); slices.Contains(urgent(sec(50)), "none") {
		t.Error("a node of which no device is kept is urgent after it was looked at")
	}
}

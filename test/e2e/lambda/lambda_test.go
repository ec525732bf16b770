package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/spans"
)

// onceEach has all commands that a cloud may get during one fence.
const onceEach = "StopInstances StartInstances"

func TestACrashedInstanceIsFencedFromOutside(t *testing.T) {
	received := &spans.Receiver{}
	collector := httptest.NewServer(received)
	t.Cleanup(collector.Close)
	w := newStack(t, 3, map[string]string{"TracesEndpoint": collector.URL})
	cloud := w.cloud()
	w.deploy(1)
	w.source()
	w.enrolled(cloud)
	victim := w.database()
	w.node(victim, "crash")
	w.moved(victim)
	w.fenced(cloud, victim)
	w.oneWriter()

	t.Run("its fence is one trace", func(t *testing.T) {
		var faults []string
		err := rig.Until(w.ctx, "the trace", func() (bool, error) {
			all := received.OfFence(victim)
			faults = spans.Faults(all)
			return len(all) > 0 && len(faults) == 0, nil
		})
		if err != nil {
			t.Errorf("%v: %q in\n%s", err, faults, spans.Tree(received.OfFence(victim)))
		}
	})
	t.Run("what was counted is in the log", func(t *testing.T) {
		counted := regexp.MustCompile(`(?m)^\{"_aws":\{"CloudWatchMetrics":.*"nodefence_transitions_total":1,.*"to":"Finished"\}$`)
		must(t, rig.Until(w.ctx, "the end to be counted", func() (bool, error) { return counted.MatchString(w.log.String()), nil }))
	})
	t.Run("what a function is given in vain is told of", func(t *testing.T) {
		power := w.bus.functions["power"]
		power.failed(record("power", envelope("/nodefence/lab", "io.nodefence.fence.fencing.v1", w.bus.last("io.nodefence.fence.fencing.v1")), errors.New("try again")))
		must(t, rig.Until(w.ctx, "an Event about the lost event", func() (bool, error) { return w.told(victim, api.EventLost) }))
	})
	t.Run("an event of a misspelt type is told of", func(t *testing.T) {
		const typ = "io.nodefence.request.fenc.v1"
		w.bus.route("/me", typ, json.RawMessage(`{"specversion":"1.0","id":"1","source":"/me","type":"`+typ+`","subject":"`+victim+`"}`))
		must(t, rig.Until(w.ctx, "a log line", func() (bool, error) {
			return strings.Contains(w.log.String(), "did you mean io.nodefence.request.fence.v1?"), nil
		}))
	})
}

// TestEveryInvocationTwice: Lambda promises at least one invocation. Each event, ticks of the
// clock too, is handed to two processes at the same time, and the bus refuses every fifth entry
// at first.
func TestEveryInvocationTwice(t *testing.T) {
	w := newWorld(t, 3)
	cloud := w.cloud()
	w.bus.copies = 2
	w.bus.refuse = func(n int64) bool { return n%5 == 0 }
	w.deploy(2)
	w.source()
	w.enrolled(cloud)
	w.ticking()
	victim := w.database()
	w.node(victim, "crash")
	w.moved(victim)
	w.fenced(cloud, victim)
	w.oneWriter()
}

// TestKilledInMidAction: in each of five fences the power function is killed with SIGKILL at
// another moment, as by a timeout, and started again.
func TestKilledInMidAction(t *testing.T) {
	points := []struct {
		action string
		when   when
	}{
		{"DescribeInstances", before}, {"StopInstances", before}, {"StopInstances", after}, {"StartInstances", before}, {"StartInstances", after},
	}
	w := newWorld(t, 2*len(points)+2)
	cloud := w.cloud()
	var mu sync.Mutex
	left := map[string]when{}
	for i, p := range points {
		left[fmt.Sprintf("%s node-%d", p.action, i)] = p.when
	}
	cloud.cut = func(action, node string) when {
		mu.Lock()
		defer mu.Unlock()
		now := left[action+" "+node]
		delete(left, action+" "+node)
		if now != never {
			w.t.Logf("killed at %s of %s", action, node)
			w.bus.functions["power"].kill()
		}
		return now
	}
	w.deploy(1)
	w.source()
	w.enrolled(cloud)
	w.database()
	for i := range points {
		w.node(fmt.Sprintf("node-%d", i), "crash")
	}
	for i, p := range points {
		node := fmt.Sprintf("node-%d", i)
		w.fenced(cloud, node)
		if n := cloud.requests("StopInstances", node); n > 1 && (p.action != "StopInstances" || p.when != before) {
			t.Errorf("%s was told %d times to stop", node, n)
		}
	}
	if len(left) > 0 {
		t.Errorf("never killed at %v", left)
	}
	w.oneWriter()
}

// TestTheClockCarriesOnWithoutSourceAndBus: once EC2 is told to stop the machine, the
// source is dead and the bus accepts nothing. Resync, which a scheduled rule ticks,
// calls the functions themselves (S19).
func TestTheClockCarriesOnWithoutSourceAndBus(t *testing.T) {
	w := newWorld(t, 3)
	cloud := w.cloud()
	var dead atomic.Bool
	w.bus.refuse = func(int64) bool { return dead.Load() }
	w.deploy(1)
	kill := w.source()
	w.enrolled(cloud)
	var once sync.Once
	cloud.cut = func(action, _ string) when {
		if action == "StopInstances" {
			once.Do(func() { dead.Store(true); kill() })
		}
		return never
	}
	victim := w.database()
	w.node(victim, "crash")
	w.ticking()
	w.moved(victim)
	if got := cloud.switches(victim); !strings.HasPrefix(onceEach, got) || got == "" {
		t.Errorf("EC2 was told %q", got)
	}
	if !strings.Contains(string(w.log.Bytes()), `"msg":"overdue, owner called"`) {
		t.Error("the pod moved without resync: the test has shown nothing")
	}
	w.oneWriter()
}

// database runs a StatefulSet of one pod, and returns its node.
func (w *world) database() string {
	w.t.Helper()
	node, err := w.Database(w.ctx, 1)
	must(w.t, err)
	return node
}

func (w *world) node(node, verb string) {
	w.t.Helper()
	must(w.t, w.Lab.Node(node, verb))
}

func (w *world) moved(from string) {
	w.t.Helper()
	_, err := w.PodRunning(w.ctx, "db-0", from)
	must(w.t, err)
}

// fenced waits for the end of a fence, and checks the commands that the cloud got.
func (w *world) fenced(c *ec2, node string) {
	w.t.Helper()
	f := w.phase(node, api.Finished)
	if got := c.switches(node); got != onceEach || f.Status.Outcome != api.Recovered {
		w.t.Errorf("outcome %s, EC2 was told %q of %s, want %q", f.Status.Outcome, got, node, onceEach)
	}
}

// told tells whether there is an Event with this reason on a node's fence.
func (w *world) told(node string, reason api.Reason) (bool, error) {
	all, err := w.Kube.CoreV1().Events(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return false, nil
	}
	for _, e := range all.Items {
		if e.Reason == string(reason) && e.InvolvedObject.Name == node && e.Type == corev1.EventTypeWarning {
			return true, nil
		}
	}
	return false, nil
}

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	turnNodes = 500
	// turnSteps bounds the writes before an Off.
	turnSteps = 40
)

// TestTurnsBack: one of five hundred nodes recovers before anything is done about it; then
// another one recovers after the first write on the way to the Off, another after the second, and
// so on. Its device gets no command, and no mark of nodefence is left on the node (S17: the reason
// must still hold, S22: we take away only what we placed). If a node does not recover, the same
// chain sends the Off. There is no kubelet: the test says which node is Ready, and moves its Lease.
// The machines are in memory.
func TestTurnsBack(t *testing.T) {
	w := newWorld(t, 0, quick, "--nodes", "0", "--grace", "10m")
	b := newTurns(w)
	for step := range turnSteps {
		if b.recovers(step) {
			continue
		}
		t.Logf("%d steps before the Off: a node that recovers at any of them is not fenced", step)
		if step < 5 {
			t.Errorf("the Off was sent after %d writes: the chain was not followed", step)
		}
		return
	}
	t.Errorf("no Off after %d writes", turnSteps)
}

// turns runs the chain of functions by hand, one event after the other.
type turns struct {
	*world
	rack     *mem.Rack
	handlers map[string]run.Handler

	mu sync.Mutex
	// left is how many writes there are until the node recovers; node is it.
	left int
	node string
	// recovered, and after which write; off says that the Off was decided and saved.
	recovered bool
	last      string
	off       bool
	failed    error
}

func newTurns(w *world) *turns {
	w.t.Helper()
	b := &turns{world: w, rack: mem.NewRack(time.Now)}
	must(w.t, b.populate())
	cfg := rest.CopyConfig(w.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return b.between(next) })
	client, err := kube.New(cfg)
	must(w.t, err)
	parts, err := functions.NewParts(w.ctx, rig.Settings(), rest.CopyConfig(w.Config), quiet(), freshRegistry())
	must(w.t, err)
	// ConfigMaps can't name machines in memory, so these replace the driver ipmi.
	parts.Client, parts.Drivers = client, map[string]device.Kind{"ipmi": b.rack.Kind(), "mem": b.rack.Kind()}
	b.handlers = functions.Handlers(parts)
	return b
}

// populate makes the nodes, each with its Lease and its device.
func (b *turns) populate() error {
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for worker := range errs {
		wg.Go(func() {
			for i := worker; i < turnNodes && errs[worker] == nil; i += len(errs) {
				errs[worker] = b.birth(node(i))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (b *turns) birth(name string) error {
	now, valid := metav1.NowMicro(), int32(40)
	_, err := b.Kube.CoreV1().Nodes().Create(b.ctx, &corev1.Node{
		// Without a label the API server would not record who set which field.
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{BootID: "boot-" + name},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = b.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(b.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, RenewTime: &now, LeaseDurationSeconds: &valid},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = b.Kube.CoreV1().ConfigMaps("nodefence-system").Create(b.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fence-config-node-" + name},
		Data: map[string]string{
			"config.properties": "node_name=" + name + "\nisolation=mark-unschedulable\npower_management=off\nrecovery=on mark-schedulable\n",
			"fence-method-off":  "agent_name=ipmi\naction=off\nname=" + name + "\n",
			"fence-method-on":   "agent_name=ipmi\naction=on\nname=" + name + "\n",
		},
	}, metav1.CreateOptions{})
	return err
}

// recovers makes a node die, and recover after this many writes. False: the Off came first.
func (b *turns) recovers(step int) bool {
	b.t.Helper()
	b.mu.Lock()
	b.node, b.left, b.recovered, b.off, b.last = node(step), step, false, false, "its death"
	b.mu.Unlock()
	now, since := metav1.NewMicroTime(b.Fences.Clock().Now()), metav1.NewMicroTime(b.Fences.Clock().Now().Add(-time.Minute))
	_, err := b.Fences.SaveSourceView(b.ctx, kube.SourceView{Leases: api.LeasePicture{
		ObservedAt: &now, Since: &since, Renewal: metav1.Duration{Duration: 10 * time.Second}, Total: turnNodes,
	}}, "")
	must(b.t, err)
	must(b.t, b.says(b.node, corev1.ConditionUnknown))
	if step == 0 {
		b.recover()
	}
	f := b.chain()
	must(b.t, b.failed)
	told := strings.Join(b.rack.Commands(b.node), " ")
	b.t.Logf("step %d, after %s: device told %q, record %s", step, b.last, told, ending(f))
	if !b.recovered {
		if told != "off" {
			b.t.Errorf("step %d: it did not recover, and its device was told %q, want off", step, told)
		}
		return false
	}
	if told != "" || !b.rack.On(b.node) {
		b.t.Errorf("step %d: recovered after %s, and its device was told %q", step, b.last, told)
	}
	if f != nil && f.Status.Outcome != api.HealedBeforeFence {
		b.t.Errorf("step %d: recovered after %s, and the record is %s", step, b.last, ending(f))
	}
	b.unmarked(b.node)
	n, err := b.Kube.CoreV1().Nodes().Get(b.ctx, b.node, metav1.GetOptions{})
	must(b.t, err)
	if v, left := n.Annotations[api.ScaleDownDisabled]; left {
		b.t.Errorf("step %d: left on %s: %s=%s", step, b.node, api.ScaleDownDisabled, v)
	}
	return true
}

func ending(f *api.NodeFence) string {
	if f == nil {
		return "never opened"
	}
	return fmt.Sprintf("%s %s", f.CurrentPhase(), f.Status.Outcome)
}

// chain hands the event of the death to the functions, and then each event that they reply with,
// or else the wake-up that the source would send, until the record is closed or the device got a
// command.
func (b *turns) chain() *api.NodeFence {
	b.t.Helper()
	src := events.SourceOf("turns")
	e := src.Condition(events.ConditionChange{Node: b.node, Condition: "Ready", Status: "Unknown", Unhealthy: true}, time.Time{}, time.Now())
	var f *api.NodeFence
	for n := range 60 {
		reply, err := b.handle(e)
		must(b.t, err)
		f, err = b.Fences.Fence(b.ctx, b.node)
		must(b.t, err)
		if f == nil || f.CurrentPhase() == api.Finished || len(b.rack.Commands(b.node)) > 0 {
			return f
		}
		if reply == nil {
			wake := src.Phase(f, time.Now(), time.Now())
			reply = &wake
			reply.SetID(fmt.Sprintf("turns-%s-%d", b.node, n))
		}
		e = *reply
	}
	b.t.Fatalf("%s: no end after 60 events\n%s", b.node, rig.Story(f))
	return nil
}

func (b *turns) handle(e event.Event) (*event.Event, error) {
	owner := functions.Owner(e.Type())
	h := b.handlers[owner]
	if h == nil {
		return nil, fmt.Errorf("event %s is for %q, which is no function", e.Type(), owner)
	}
	return h(b.ctx, e)
}

// between makes the node recover right after a write of the functions, before they get the
// answer.
func (b *turns) between(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Method != http.MethodGet && r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			_ = r.Body.Close()
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		resp, err := next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet && resp.StatusCode < 300 {
			b.wrote(r.Method+" "+r.URL.Path, body)
		}
		return resp, err
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// wrote counts one write. The write that saves the intent of an Off is the last one: between it
// and the call nobody looks (S8).
func (b *turns) wrote(what string, body []byte) {
	var record api.NodeFence
	_ = json.Unmarshal(body, &record) // an object that is no record has none of these fields
	intent := record.Status.Claim != nil && record.Status.Claim.Call == api.CallOff
	b.mu.Lock()
	b.off = b.off || intent
	b.left--
	now := b.left == 0 && !b.off
	if !b.recovered {
		b.last = what
	}
	b.mu.Unlock()
	if now {
		b.recover()
	}
}

// recover brings the node back: Ready, and with a Lease that moves.
func (b *turns) recover() {
	renewed := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	_, err := b.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(b.ctx, b.node, types.MergePatchType, []byte(renewed), metav1.PatchOptions{})
	err = errors.Join(err, b.says(b.node, corev1.ConditionTrue))
	b.mu.Lock()
	b.recovered, b.failed = true, errors.Join(b.failed, err)
	b.mu.Unlock()
}

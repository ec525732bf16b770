package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const faultPolicy = `
power: {offTimeout: 10s, attempts: 3, retryInterval: 2s, restarts: 100}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 12, stormCoolDown: 1s, perNode: {cutsPerDay: 100}}
`

// TestBMCFaults makes each BMC fail in another way, crashes all those nodes, and checks which
// fences release by themselves, which only after the fault is gone, and which never
// (infra/README.md has the table).
func TestBMCFaults(t *testing.T) {
	w := newWorld(t, 22, faultPolicy)
	for i, c := range faults {
		must(t, w.Lab.Fault(node(i), c.fault))
	}
	w.start(nil)
	var wg sync.WaitGroup
	for i, c := range faults {
		wg.Go(func() {
			if err := w.Lab.Node(node(i), c.verb); err != nil {
				t.Error(err)
				return
			}
			t.Run(c.fault, func(t *testing.T) { c.check(t, w, node(i), c.mends) })
		})
	}
	wg.Wait()
	w.oneWriterIfAny()
}

func node(i int) string { return fmt.Sprintf("node-%d", i) }

// fault is one way in which a BMC misbehaves, and how the fence must end.
type fault struct {
	fault, verb string
	// mends says that the fault must be removed before the fence can end.
	mends bool
	check func(t *testing.T, w *world, node string, mends bool)
}

var faults = []fault{
	{"none", "crash", false, endsReleased},
	{"slow=6s", "crash", false, endsReleased},
	{"early", "crash", false, endsReleased},
	{"reset-connection", "crash", false, endsReleased},
	{"conflict-when-off", "power-loss", false, staysOff},
	{"refuse", "crash", true, endsReleased},
	{"hang", "crash", true, endsReleased},
	{"accept-and-ignore", "crash", true, endsReleased},
	{"wrong-password", "crash", true, endsReleased},
}

func endsReleased(t *testing.T, w *world, node string, mends bool) {
	if mends {
		notReleased(t, w, node)
		if err := w.Lab.Fault(node, "none"); err != nil {
			t.Error(err)
		}
	}
	f, err := w.Phase(w.ctx, node, api.Finished)
	if err != nil {
		t.Error(err)
		return
	}
	if f.Status.Release.DoneAt == nil || f.Status.Outcome != api.Recovered {
		t.Errorf("ended as %s, released %v\n%s", f.Status.Outcome, f.Status.Release.DoneAt, rig.Story(f))
	}
}

// notReleased waits until the device has failed visibly, and sees that nothing was freed.
func notReleased(t *testing.T, w *world, node string) {
	err := rig.Until(w.ctx, "the failure of "+node+" to be visible", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		if err != nil || f == nil {
			return false, nil
		}
		for _, h := range f.Status.History {
			if h.Reason == api.DeviceFailed || h.Reason == api.PowerOffNotSeen {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Error(err)
	}
	if f, _ := w.Fences.Fence(w.ctx, node); f != nil && f.Status.Release.StartedAt != nil {
		t.Errorf("released although the machine was not seen off\n%s", rig.Story(f))
	}
}

func staysOff(t *testing.T, w *world, node string, _ bool) {
	if _, err := w.Phase(w.ctx, node, api.Fenced); err != nil {
		t.Error(err)
	}
	if words, _ := w.Lab.Words(node); words != "" {
		t.Errorf("the BMC was told %q", words)
	}
}

func (w *world) oneWriterIfAny() {
	w.t.Helper()
	if _, err := w.Lab.OneWriter(); err != nil {
		w.t.Error(err)
	}
}

// TestLyingBMCIsCaughtByTheLease: the BMC says off, and the kubelet continues to renew its
// Lease. Nothing is released (S5: a machine that was just switched off gets time to be off).
func TestLyingBMCIsCaughtByTheLease(t *testing.T) {
	w := newWorld(t, 3, `
unhealthyConditions: [{type: KernelDeadlock, status: "True"}]
power: {offTimeout: 10s, attempts: 2, retryInterval: 1s, restarts: 0}
recovery: {readyDuration: 1s}
limits: {maxUnhealthy: "50%"}
drain: {timeout: 0s}
`, "--lease", "5s", "--grace", "20s") // between two reads lies a renewal and a fifth: time enough for a busy machine's Lease
	victim := w.database(1)
	must(t, w.Lab.Fault(victim, "lie"))
	w.start(nil)
	must(t, w.SetCondition(w.ctx, victim, "KernelDeadlock", "True"))
	f := w.awaited(victim)
	if f.Status.Awaited.Reason != api.SignOfLife || f.Status.Release.StartedAt != nil {
		t.Errorf("%s: %s\n%s", f.Status.Reason, f.Status.Message, rig.Story(f))
	}
	w.oneWriter()
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.Spec.NodeName != victim {
		t.Errorf("the pod was taken from a living machine: %v", p)
	}
}

// TestNoSecretLeaks looks for every password in everything that nodefence
// writes (S29). The wrong ones are looked for too: failures are where they leak.
func TestNoSecretLeaks(t *testing.T) {
	w := newWorld(t, 3, quick)
	machines, err := w.Lab.Machines()
	must(t, err)
	must(t, w.Lab.Fault("node-2", "wrong-password"))
	w.remediations()
	w.byFAR("node-0")
	dir := t.TempDir()
	p, err := w.StartProcess(w.ctx, dir, w.log, "-v", "--adopt", "far")
	must(t, err)
	t.Cleanup(p.Stop)
	asked := w.far("node-0", "", nil)
	if got := w.followed(asked); !strings.HasPrefix(got[len(got)-1], "False True True") {
		t.Errorf("the FenceAgentsRemediation stands at %s", got)
	}
	w.node("node-1", "crash")
	w.phase("node-1", api.Finished)
	w.node("node-2", "crash")
	w.until("a refused login", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "node-2")
		return f != nil && strings.Contains(f.Status.Power.LastError+f.Status.Message, "denied"), err
	})
	places := map[string][]byte{"the log": w.log.Bytes()}
	for _, name := range []string{"cmdline", "environ"} {
		places["the process's "+name] = read(t, fmt.Sprintf("/proc/%d/%s", p.PID(), name))
	}
	places["the metrics"] = get(t, "http://"+p.Addr+"/metrics")
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			places["the broker's "+filepath.Base(path)] = read(t, path)
		}
		return nil
	}))
	w.objects(places)
	places["the FenceAgentsRemediations"], err = w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/" + far.GroupVersion + "/fenceagentsremediations").Do(w.ctx).Raw()
	must(t, err)
	for _, m := range machines {
		if len(m.Password) < 8 {
			t.Fatalf("the password of %s is too short to look for", m.Name)
		}
		for place, text := range places {
			if bytes.Contains(text, []byte(m.Password)) {
				t.Errorf("the password of %s is in %s", m.Name, place)
			}
		}
	}
	if !bytes.Contains(places["the NodeFences"], []byte("node-1")) {
		t.Error("the NodeFences were not looked at")
	}
}

// objects adds every object that nodefence writes. Secrets are where passwords belong.
func (w *world) objects(places map[string][]byte) {
	w.t.Helper()
	for name, path := range map[string]string{
		"the NodeFences": "/apis/nodefence.io/v1alpha1/nodefences", "the ledger": "/apis/nodefence.io/v1alpha1/fenceledgers",
		"the policies": "/apis/nodefence.io/v1alpha1/fencepolicies", "the Events": "/api/v1/events", "the Nodes": "/api/v1/nodes",
		"the ConfigMaps": "/api/v1/configmaps", "the FenceTargets": "/apis/nodefence.io/v1alpha1/fencetargets",
		"the FenceRequests": "/apis/nodefence.io/v1alpha1/fencerequests",
	} {
		raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath(path).Do(w.ctx).Raw()
		must(w.t, err)
		places[name] = raw
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}

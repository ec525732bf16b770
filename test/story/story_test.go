package story

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"

	"github.com/nodefence/nodefence/test/golden"
)

// incident is one story: how it begins, and how it must end.
type incident struct {
	begin func(*world)
	ends  []api.Phase
	// offs is the most power-offs that it may need.
	offs int
}

func at(w *world, after time.Duration, do func()) {
	w.effects = append(w.effects, effect{start.Add(after), do})
}

// twoLevels gives the node a second device.
func (w *world) twoLevels() {
	w.record.Status.Decision.Devices = api.Named(append(w.record.Status.Decision.Devices, api.Binding{Driver: "mem", Address: "pdu/7", EffectDelay: metav1.Duration{Duration: 5 * time.Second}})...)
}

func abort(w *world) *api.AbortRequest {
	return &api.AbortRequest{By: "ada", At: metav1.NewTime(w.now)}
}

func ask(w *world) *api.Request {
	return &api.Request{FenceNumber: 1, By: "ada", At: metav1.NewTime(w.now)}
}

var incidents = map[string]incident{
	"a node crashes":         {func(w *world) { w.crashed = true }, []api.Phase{api.Finished}, 1},
	"a node loses its power": {func(w *world) { w.on = false }, []api.Phase{api.Fenced}, 0},
	"a node is cut off and writes": {func(w *world) {
		w.cut = true
		at(w, 40*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 1},
	"a node heals before its power is cut":                           {func(w *world) { w.ready = "True" }, []api.Phase{api.Finished}, 0},
	"the BMC is slow":                                                {func(w *world) { w.crashed, w.bmc = true, "slow" }, []api.Phase{api.Finished}, 1},
	"the BMC ignores, then obeys":                                    {func(w *world) { w.crashed, w.bmc = true, "ignore"; at(w, 12*time.Second, func() { w.bmc = "" }) }, []api.Phase{api.Finished}, 3},
	"the BMC is dead, then answers":                                  {func(w *world) { w.crashed, w.bmc = true, "dead"; at(w, 12*time.Second, func() { w.bmc = "" }) }, []api.Phase{api.Finished}, 1},
	"the BMC is dead for ever":                                       {func(w *world) { w.crashed, w.bmc = true, "dead" }, []api.Phase{api.Failed}, 0},
	"the BMC dies after it took the Off, and is back in ten minutes": {func(w *world) { w.crashed, w.dies = true, 10*time.Minute }, []api.Phase{api.Finished}, 1},
	"the BMC's Secret is away for three minutes after the Off": {func(w *world) {
		w.crashed, w.dies, w.away = true, 3*time.Minute, "Secret nodefence-system/bmc is missing"
	}, []api.Phase{api.Finished}, 1},
	"the BMC dies after it took the Off, and somebody switches the machine on": {func(w *world) {
		w.crashed, w.dies = true, 20*time.Minute
		at(w, 8*time.Minute, func() { w.powerOn(); w.say("           somebody switches the machine on") })
	}, []api.Phase{api.Finished}, 1},
	"the BMC dies with the Off, and the machine is on when it is back": {func(w *world) {
		w.crashed, w.bmc, w.dies = true, "ignore", 5*time.Minute
	}, []api.Phase{api.Finished}, 2},
	"the BMC dies after it took the Off, and a person ends the record": {func(w *world) {
		w.crashed, w.dies = true, 50*time.Minute
		at(w, 5*time.Minute, func() { w.deleting = true; w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 1},
	"a person retries a dead BMC": {func(w *world) {
		w.crashed, w.bmc = true, "dead"
		at(w, 60*time.Second, func() { w.bmc = ""; w.record.Spec.Requests.Retry = ask(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 1},
	"a person confirms": {func(w *world) {
		w.crashed, w.bmc = true, "dead"
		at(w, 60*time.Second, func() { w.record.Spec.Requests.ConfirmOff = &api.Confirmation{Request: *ask(w)}; w.wake(0, "asked") })
	}, []api.Phase{api.Fenced}, 0},
	"a person aborts in time": {func(w *world) {
		w.crashed, w.bmc = true, "dead"
		at(w, 7*time.Second, func() { w.record.Spec.Requests.Abort = abort(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 0},
	"a record is deleted while its device is dead": {func(w *world) {
		w.crashed, w.bmc = true, "dead"
		at(w, 7*time.Second, func() { w.deleting = true; w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 0},
	"the Node object is deleted":                                {func(w *world) { w.crashed = true; at(w, time.Second, func() { w.gone = true }) }, []api.Phase{api.Finished}, 1},
	"the Node object is deleted, and Kubernetes takes its pods": {func(w *world) { w.crashed = true; removedAt(w, 1500*time.Millisecond) }, []api.Phase{api.Finished}, 1},
	"the Node object is deleted while its work is released":     {func(w *world) { w.crashed = true; removedAt(w, 12500*time.Millisecond) }, []api.Phase{api.Finished}, 1},
	"the machine is to stay off":                                {func(w *world) { w.crashed = true; w.record.Status.Decision.Settings.Action = api.ActionOff }, []api.Phase{api.Fenced}, 1},
	"the BMC is dead, and the PDU is not": {func(w *world) {
		w.crashed, w.bmc = true, "dead"
		w.twoLevels()
		at(w, 40*time.Second, func() { w.bmc = "" })
	}, []api.Phase{api.Finished}, 1},
	"the BMC ignores, and the PDU obeys": {func(w *world) {
		w.crashed, w.bmc = true, "ignore"
		w.twoLevels()
		at(w, 55*time.Second, func() { w.bmc = "" })
	}, []api.Phase{api.Finished}, 4},
	"a node is isolated for a while, and comes back": {func(w *world) {
		w.record.Status.Decision.Settings.Isolation.PowerDelay.Duration = 90 * time.Second
		w.cut = true
		at(w, 70*time.Second, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a node is isolated for a while, and stays away": {func(w *world) {
		w.record.Status.Decision.Settings.Isolation.PowerDelay.Duration = 90 * time.Second
		w.crashed = true
	}, []api.Phase{api.Finished}, 1},
	"a node is only isolated": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.Action, w.record.Status.Decision.Devices = true, api.ActionIsolate, nil
		at(w, 50*time.Second, func() { w.on, w.crashed, w.boot = true, false, 1; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a node is only isolated, and a person confirms": {func(w *world) {
		w.on, w.record.Status.Decision.Settings.Action, w.record.Status.Decision.Devices = false, api.ActionIsolate, nil
		at(w, 50*time.Second, func() { w.record.Spec.Requests.ConfirmOff = &api.Confirmation{Request: *ask(w)}; w.wake(0, "asked") })
	}, []api.Phase{api.Fenced}, 0},
	"a machine is only read, and somebody switches it off": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.Action = true, api.ActionWaitForOff
		at(w, 50*time.Second, func() { w.on = false })
	}, []api.Phase{api.Fenced}, 0},
	"a machine is only read, and heals": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.Action = true, api.ActionWaitForOff
		at(w, 50*time.Second, func() { w.on, w.crashed, w.boot = true, false, 1; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"the last recovery": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.PerNode.CutsPerDay = true, 1
		at(w, 60*time.Second, func() { w.record.Spec.Requests.Retry = ask(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 1},
	"a person gives the node back": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.Recovery.Uncordon = true, api.UncordonManual
		at(w, 10*time.Minute, func() { w.record.Spec.Requests.Uncordon = ask(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 1},
	"a node that is kept falls ill again": {func(w *world) {
		w.crashed, w.record.Status.Decision.Settings.Recovery.Uncordon = true, api.UncordonManual
		at(w, 4*time.Minute, func() { w.crashed, w.ready, w.readySince = true, "Unknown", w.now; w.wake(0, "node.unhealthy") })
		at(w, 20*time.Minute, func() { w.record.Spec.Requests.Uncordon = ask(w); w.wake(0, "asked") })
	}, []api.Phase{api.Finished}, 2},
	"a node is cut off, and its kubelet answers": {func(w *world) {
		activityChecks(w)
		w.cut = true
		at(w, 11*time.Minute, func() { w.cut = false; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
	"a dead node fails eight of ten checks": {func(w *world) { activityChecks(w); w.crashed = true }, []api.Phase{api.Finished}, 1},
	"checks that go wrong prove nothing": {func(w *world) {
		activityChecks(w)
		w.crashed, w.checks = true, "error"
	}, []api.Phase{api.Pending}, 0},
	"a node is degraded for too long": {func(w *world) {
		activityChecks(w)
		w.cut = true
		at(w, 30*time.Minute, func() { w.record.Spec.Requests.Approve = ask(w); w.wake(0, "asked") })
		at(w, 31*time.Minute, func() { w.cut = false })
	}, []api.Phase{api.Finished}, 1},
	"a node is degraded for too long, and the policy fences it": {func(w *world) {
		activityChecks(w)
		w.record.Status.Decision.Settings.ActivityChecks.OnAliveTimeout = api.AliveFence
		w.cut = true
		at(w, 31*time.Minute, func() { w.cut = false })
	}, []api.Phase{api.Finished}, 1},
	"a node dies while it is degraded": {func(w *world) {
		activityChecks(w)
		w.cut = true
		at(w, 2*time.Minute, func() { w.crashed, w.cut = true, false })
	}, []api.Phase{api.Finished}, 1},
	"the storage is down for everyone": {func(w *world) {
		w.record.Status.Decision.Settings.StorageCheck = &api.StorageSettings{Type: api.StorageTCP, TCP: &api.TCPCheck{Address: "storage:2049"}, Timeout: metav1.Duration{Duration: time.Minute}, ValidDuration: metav1.Duration{Duration: 30 * time.Second}}
		w.crashed, w.storageDown = true, true
		at(w, 5*time.Minute, func() { w.storageDown = false })
	}, []api.Phase{api.Finished}, 1},
	"a dry run": {func(w *world) {
		w.crashed = true
		w.record.Status.Decision.Settings.Mode = api.ModeDryRun
		at(w, 45*time.Second, func() { w.on, w.crashed, w.boot = true, false, 1; w.wake(0, "node.healthy") })
	}, []api.Phase{api.Finished}, 0},
}

func tell(i incident, tw twist) *world {
	w := newWorld(tw)
	i.begin(w)
	w.run()
	return w
}

// judge: no promise broken, and it has ended as it must.
func judge(t *testing.T, how string, i incident, w *world, offs int) {
	t.Helper()
	ended := false
	if w.gone && w.record.Status.Phase == "" {
		return // nothing was begun for a node that is gone
	}
	for _, p := range i.ends {
		ended = ended || w.record.Status.Phase == p
	}
	if !ended || len(w.faults) > 0 || w.offs > offs || w.ons > w.offs {
		t.Errorf("%s: ended in %s, %d off, %d on, %v\n%s", how, w.record.Status.Phase, w.offs, w.ons, w.faults, w.text.String())
	}
	if w.record.Status.Phase == api.Finished && !w.gone && (w.taint || w.cordon || w.oos || w.finalizer) {
		t.Errorf("%s: something is left: taint %v cordon %v out of service %v finalizer %v", how, w.taint, w.cordon, w.oos, w.finalizer)
	}
	for _, x := range w.fabrics {
		if w.record.Status.Phase == api.Finished && x.off && !x.theirs {
			t.Errorf("%s: %s is still cut off\n%s", how, x.name, w.text.String())
		}
	}
}

func TestStories(t *testing.T) {
	all := maps.Clone(incidents)
	maps.Copy(all, early)
	maps.Copy(all, wide)
	maps.Copy(all, isolated)
	maps.Copy(all, windows)
	maps.Copy(all, asked)
	maps.Copy(all, drained)
	for name, i := range all {
		t.Run(name, func(t *testing.T) {
			w := tell(i, twist{})
			judge(t, "as it is", i, w, i.offs)
			golden.File(t, filepath.Join("testdata", strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", "")+".txt"), name+"\n\n"+w.text.String())
			judge(t, "every event doubled", i, tell(i, twist{double: true}), i.offs)
			for n := 1; n <= w.handled; n++ {
				judge(t, "one event lost", i, tell(i, twist{drop: n}), i.offs)
			}
			for n := 1; n <= w.saves; n++ {
				judge(t, "the process dies after a save", i, tell(i, twist{die: n}), i.offs)
			}
			for seed := range uint64(20) {
				judge(t, "shuffled", i, tell(i, twist{shuffle: rand.New(rand.NewPCG(seed, 1))}), i.offs)
			}
		})
	}
}

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// brake is what somebody does while one fence waits for its slot and another one is
// between its yes and its Off, and why both are held then, or ended.
type brake struct {
	name, spec string
	also       func(w *world, pair [2]string)
	why        api.Reason
	ends       bool
}

const broken = "unhealthy: {conditions: [{type: Broken, status: \"True\", for: 0s}]}\n" +
	"timeouts: {deviceCall: 5s, powerOff: 1m, healthyFor: 1s, boot: 5m}\nretries: {interval: 1s, perStep: 100}\n"

const roomy = `limits: {maxUnhealthy: "100%", maxConcurrent: 1, stormCoolDown: 0s}` + "\n"

var brakes = []brake{
	{name: "dryrun", spec: broken + "mode: DryRun\nlimits: {maxUnhealthy: 0, maxConcurrent: 1}\n", why: api.DryRunHold},
	{name: "exclude", spec: broken + roomy + "exclude: {nodes: [FIRST, SECOND]}\naction: None\n", why: api.ExcludedHold},
	{name: "none", spec: broken + roomy + "action: None\n", why: api.ConfirmationHold},
	{name: "limits", spec: broken + "limits: {maxUnhealthy: 0, maxConcurrent: 1, stormCoolDown: 0s}\n", why: api.StormHold},
	{name: "pause", spec: broken + roomy + "paused: true\n", why: api.PausedHold},
	{name: "window", spec: broken + roomy + "WINDOW", why: api.WindowHold},
	{name: "label", why: api.ExcludedHold, also: func(w *world, pair [2]string) {
		for _, n := range pair {
			w.patch(n, `{"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":"true"}}}`)
		}
	}},
	{name: "budget", why: api.BudgetHold, also: func(w *world, _ [2]string) {
		must(w.t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceBudget\nmetadata: {name: budget}\nspec: {minAvailable: 2, selector: {matchLabels: {row: budget}}}\n"))
	}},
	{name: "deleted", why: api.PolicyGoneHold, ends: true, also: func(w *world, _ [2]string) {
		must(w.t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/deleted").Do(w.ctx).Error())
	}},
	{name: "stop", why: api.StoppedHold, also: func(w *world, _ [2]string) { w.stop(true) }},
}

// TestBrakes: whatever a person does to stop what is under way stops it, whether the fence
// waits for its slot or is between its yes and its Off; and taken back it goes on (S15, S17).
func TestBrakes(t *testing.T) {
	w := newWorld(t, 2*len(brakes), "priority: 1000\nselector: {matchLabels: {row: nobody}}\n"+quick)
	w.start(nil)
	pair := func(i int) [2]string { return [2]string{node(2 * i), node(2*i + 1)} }
	var wg sync.WaitGroup
	for i, b := range brakes {
		for _, n := range pair(i) {
			w.patch(n, `{"metadata":{"labels":{"row":"`+b.name+`"}}}`)
		}
		must(t, w.Apply(w.ctx, rig.Policy(b.name, "selector: {matchLabels: {row: "+b.name+"}}\n"+broken+roomy)))
	}
	for i := range brakes {
		must(t, w.Lab.Fault(pair(i)[0], "hang"))
		w.breaks(pair(i)[0], corev1.ConditionTrue)
	}
	for i := range brakes {
		w.phase(pair(i)[0], api.Fencing) // it reads, and its BMC says nothing
		w.breaks(pair(i)[1], corev1.ConditionTrue)
	}
	for i, b := range brakes {
		w.held(pair(i)[1], api.ConcurrencyHold)
		if b.name != "stop" {
			w.put(b, pair(i))
		}
	}
	for i, b := range brakes {
		if b.name == "stop" { // which stops all others too
			w.put(b, pair(i))
		}
		for _, n := range pair(i) {
			wg.Go(func() { w.in(t).standsStill(b, n) })
		}
		wg.Wait()
	}
	for i := range brakes {
		w.words(pair(i)[0], "")
		w.words(pair(i)[1], "")
	}
	w.goesOn()
	for i, b := range brakes {
		if b.name != "limits" && b.name != "stop" { // whose brakes were taken back
			w.words(pair(i)[0], "")
			w.words(pair(i)[1], "")
		}
	}
}

// put is what the person does; the BMC answers again after that.
func (w *world) put(b brake, pair [2]string) {
	w.t.Helper()
	open := window(time.Now().UTC().Truncate(time.Hour).Add(-2*time.Hour), 8*time.Hour)
	spec := strings.NewReplacer("FIRST", pair[0], "SECOND", pair[1], "WINDOW", open).Replace(b.spec)
	if spec != "" {
		must(w.t, w.Apply(w.ctx, rig.Policy(b.name, "selector: {matchLabels: {row: "+b.name+"}}\n"+spec)))
	}
	if b.also != nil {
		b.also(w, pair)
	}
	must(w.t, w.Lab.Fault(pair[0], "none"))
}

// standsStill waits until a fence is held as it is to be, or is over.
func (w *world) standsStill(b brake, node string) {
	w.t.Helper()
	if b.ends {
		w.ended(node, b.why)
		w.unmarked(node)
		return
	}
	w.until(node+" to be held: "+string(b.why), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		return f != nil && f.Status.Phase == api.Pending && f.Status.Reason == b.why, err
	})
	if b.why == api.ExcludedHold || b.why == api.DryRunHold {
		w.unmarked(node)
	}
}

// goesOn takes two brakes back, and says after how long the fences went on.
func (w *world) goesOn() {
	w.t.Helper()
	at := time.Now()
	w.stop(false)
	w.until("the lifted stop to be noticed", func() (bool, error) { return w.notHeld("stop", api.StoppedHold) })
	w.t.Logf("a lifted stop was noticed after %s", time.Since(at).Round(time.Millisecond))
	at = time.Now()
	must(w.t, w.Apply(w.ctx, rig.Policy("limits", "selector: {matchLabels: {row: limits}}\n"+broken+roomy)))
	w.until("a fence to go on under raised limits", func() (bool, error) {
		for i, b := range brakes {
			for _, n := range []string{node(2 * i), node(2*i + 1)} {
				if words, err := w.Lab.Words(n); b.name == "limits" && (words != "" || err != nil) {
					return true, err
				}
			}
		}
		return false, nil
	})
	w.t.Logf("raised limits led to an Off after %s", time.Since(at).Round(time.Millisecond))
}

// notHeld: one of a row's fences is held for that no more.
func (w *world) notHeld(row string, why api.Reason) (bool, error) {
	for i, b := range brakes {
		if b.name != row {
			continue
		}
		f, err := w.Fences.Fence(w.ctx, node(2*i))
		return f != nil && f.Status.Reason != why, err
	}
	return false, nil
}

func (w *world) stop(on bool) {
	w.t.Helper()
	body := fmt.Sprintf(`{"spec":{"stop":%t}}`, on)
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster").Body([]byte(body)).Do(w.ctx).Error())
}

// breaks has a node say that it is broken, or no more.
func (w *world) breaks(node string, status corev1.ConditionStatus) {
	w.t.Helper()
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":"Broken","status":%q,"reason":"Test","lastTransitionTime":%q}]}}`, status, time.Now().UTC().Format(time.RFC3339))
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
	must(w.t, err)
}

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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

// brake is an event or an action of a person while one fence is between the gate's yes and
// its Off and another one waits for its slot, and why both are then held or ended.
type brake struct {
	name string
	// spec is the policy's spec from then on; before is its spec until then, in addition to the usual.
	spec, before string
	also         func(w *world, nodes []string)
	why          api.Reason
	ends         bool
	// nodes is how many nodes the policy has, if not two. Only the first of them must be
	// fenced.
	nodes int
}

const (
	unswitched = "unhealthyConditions: [{type: Broken, status: \"True\", duration: 0s}]\nrecovery: {bootTimeout: 5m, readyDuration: 1s}\n"
	broken     = unswitched + "power: {offTimeout: 1m, attempts: 100, retryInterval: 1s}\n"
)

const roomy = `limits: {maxUnhealthy: "100%", maxConcurrent: 1, stormCoolDown: 0s}` + "\n"

var brakes = []brake{
	{name: "dryrun", spec: broken + "mode: DryRun\nlimits: {maxUnhealthy: 0, maxConcurrent: 1}\n", why: api.DryRun},
	{name: "exclude", spec: unswitched + roomy + "exclude: {nodeNames: [FIRST, SECOND]}\naction: WaitForOff\n", why: api.Excluded},
	{name: "none", spec: unswitched + roomy + "action: WaitForOff\n", why: api.WaitingForConfirmation},
	{name: "limits", spec: broken + "limits: {maxUnhealthy: 0, maxConcurrent: 1, stormCoolDown: 0s}\n", why: api.TooManyUnhealthy},
	{name: "pause", spec: broken + roomy + "pauseRequests: [me]\n", why: api.Paused},
	{name: "tomorrow", spec: broken + roomy + "drainFirst: true\n", why: api.PolicyNotUnderstood},
	{name: "window", spec: broken + roomy + "WINDOW", why: api.PauseWindow},
	{name: "label", why: api.Excluded, also: func(w *world, nodes []string) {
		for _, n := range nodes {
			w.patch(n, `{"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":"true"}}}`)
		}
	}},
	{name: "budget", why: api.BudgetExhausted, also: func(w *world, _ []string) {
		must(w.t, w.Apply(w.ctx, "apiVersion: nodefence.io/v1alpha1\nkind: FenceBudget\nmetadata: {name: budget}\nspec: {minAvailable: 2, selector: {matchLabels: {row: budget}}}\n"))
	}},
	{name: "deleted", why: api.PolicyDeleted, ends: true, also: func(w *world, _ []string) {
		must(w.t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/deleted").Do(w.ctx).Error())
	}},
	{name: "storm", why: api.TooManyUnhealthy, nodes: 10, before: "limits: {maxUnhealthy: \"40%\", maxConcurrent: 1, stormCoolDown: 0s}\n",
		also: func(w *world, nodes []string) { w.standStill(nodes[1:5]) }},
	{name: "quorum", why: api.EtcdQuorum, nodes: 3, before: roomy + "controlPlane: {fence: WithQuorum, etcdNodeNames: [FIRST, SECOND, THIRD]}\n",
		also: func(w *world, nodes []string) { w.standStill(nodes[1:2]) }},
	{name: "stop", why: api.Stopped, also: func(w *world, _ []string) { w.stop(true) }},
}

// asked are the nodes of a row that must be fenced.
func (b brake) asked(nodes []string) []string {
	if b.nodes > 0 {
		return nodes[:1]
	}
	return nodes
}

// TestBrakes: every brake of a person stops what is under way, whether the fence waits for its
// slot or is between the gate's yes and its Off. So do a storm and the loss of etcd's quorum.
// When the brake is removed, the fences continue (S13, S15, S17).
func TestBrakes(t *testing.T) {
	rows, all := map[string][]string{}, 0
	for _, b := range brakes {
		for range max(b.nodes, 2) {
			rows[b.name] = append(rows[b.name], node(all))
			all++
		}
	}
	w := newWorld(t, all, "precedence: 1000\nselector: {matchLabels: {row: nobody}}\n"+quick)
	w.tomorrow()
	w.start(nil)
	var wg sync.WaitGroup
	last := brakes[len(brakes)-1] // stops all others too
	for _, b := range brakes {
		wg.Go(func() {
			w.begins(b, rows[b.name])
			if b.name != last.name {
				w.put(b, rows[b.name])
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	w.put(last, rows[last.name])
	for _, b := range brakes {
		for _, n := range b.asked(rows[b.name]) {
			w.words(n, "")
		}
	}
	w.goesOn(rows)
	for _, b := range brakes {
		for _, n := range b.asked(rows[b.name]) {
			if b.name != "limits" && b.name != "tomorrow" && b.name != last.name { // whose brakes were taken back
				w.words(n, "")
			}
		}
	}
}

// begins returns when one of a row's fences is between the gate's yes and its Off, and the other
// one waits for the slot. They may change places before the brake is set, because an admission
// lasts a minute, and then the other fence gets the slot. So neither BMC answers until then.
func (w *world) begins(b brake, nodes []string) {
	w.t.Helper()
	for _, n := range nodes {
		w.patch(n, `{"metadata":{"labels":{"row":"`+b.name+`"}}}`)
	}
	must(w.t, w.Apply(w.ctx, b.policy(nodes, broken+cmp.Or(b.before, roomy))))
	for _, n := range b.asked(nodes) {
		must(w.t, w.Lab.Fault(n, "hang"))
	}
	w.breaks(nodes[0], corev1.ConditionTrue)
	w.phase(nodes[0], api.Fencing) // it reads, and its BMC does not answer
	if b.nodes > 0 {
		return
	}
	w.breaks(nodes[1], corev1.ConditionTrue)
	w.until("a fence of "+b.name+" to have the slot, and one to wait for it", func() (bool, error) {
		one, err := w.Fences.Fence(w.ctx, nodes[0])
		other, err2 := w.Fences.Fence(w.ctx, nodes[1])
		waits := func(f *api.NodeFence) bool {
			return f.Status.Phase == api.Pending && f.Status.Reason == api.TooManyConcurrent
		}
		return one != nil && other != nil && (one.Status.Phase == api.Fencing && waits(other) || other.Status.Phase == api.Fencing && waits(one)), errors.Join(err, err2)
	})
}

func (b brake) policy(nodes []string, spec string) string {
	open := window(time.Now().UTC().Truncate(time.Hour).Add(-2*time.Hour), 8*time.Hour)
	names := []string{"WINDOW", open, "FIRST", nodes[0], "SECOND", nodes[1], "THIRD", nodes[len(nodes)-1]}
	return rig.Policy(b.name, "selector: {matchLabels: {row: "+b.name+"}}\n"+strings.NewReplacer(names...).Replace(spec))
}

// put sets the brake that holds the row's fences; the BMCs answer again after that.
func (w *world) put(b brake, nodes []string) {
	w.t.Helper()
	if b.spec != "" {
		must(w.t, w.Apply(w.ctx, b.policy(nodes, b.spec)))
	}
	if b.also != nil {
		b.also(w, nodes)
	}
	for _, n := range b.asked(nodes) {
		must(w.t, w.Lab.Fault(n, "none"))
	}
	for _, n := range b.asked(nodes) {
		w.standsStill(b, n)
	}
	if b.why == api.PolicyNotUnderstood {
		w.keeps(b.name, "drainFirst")
	}
}

// standStill returns when the ledger shows that the Leases of these nodes stand still.
func (w *world) standStill(nodes []string) {
	w.t.Helper()
	w.allAtOnce(nodes, "lease-stop")
	w.until(fmt.Sprintf("the Leases of %v to stand still", nodes), func() (bool, error) {
		l, err := w.Fences.Ledger(w.ctx)
		if err != nil {
			return false, err
		}
		still := 0
		for _, s := range l.Status.Leases.Still {
			if slices.Contains(nodes, s.NodeName) {
				still++
			}
		}
		return still == len(nodes), nil
	})
}

// standsStill waits until a fence is held as expected, or is over.
func (w *world) standsStill(b brake, node string) {
	w.t.Helper()
	if b.ends {
		w.ended(node, b.why)
		w.unmarked(node)
		return
	}
	w.until(node+" to be held: "+string(b.why), func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, node)
		// A claim of an Off may stand in the record for a moment: it is taken back where the Off was not sent in time.
		if told, err := w.Lab.Words(node); told != "" || err != nil {
			return false, fmt.Errorf("its BMC was told %q: %v\n%s", told, err, rig.Story(f))
		}
		return f != nil && f.Status.Phase == api.Pending && f.Status.Reason == b.why, err
	})
	if b.why == api.Excluded || b.why == api.DryRun {
		w.unmarked(node)
	}
}

// goesOn removes two brakes, and logs after how long the fences continued.
func (w *world) goesOn(rows map[string][]string) {
	w.t.Helper()
	at := time.Now()
	w.stop(false)
	w.until("the lifted stop to be noticed", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, rows["stop"][0])
		return f != nil && f.Status.Reason != api.Stopped, err
	})
	w.t.Logf("a lifted stop was noticed after %s", time.Since(at).Round(time.Millisecond))
	for _, name := range []string{"limits", "tomorrow"} {
		at = time.Now()
		must(w.t, w.Apply(w.ctx, brake{name: name}.policy(rows[name], broken+roomy)))
		w.until("a fence of "+name+" to go on under the policy of before", func() (bool, error) {
			for _, n := range rows[name] {
				if words, err := w.Lab.Words(n); words != "" || err != nil {
					return true, err
				}
			}
			return false, nil
		})
		w.t.Logf("%s taken back led to an Off after %s", name, time.Since(at).Round(time.Millisecond))
	}
}

// tomorrow makes the API server accept a field of FencePolicies that this nodefence does
// not know, as if the kinds were newer than the programs.
func (w *world) tomorrow() {
	w.t.Helper()
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fencepolicies.nodefence.io"
	const patch = `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/drainFirst","value":{"type":"boolean"}}]`
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.JSONPatchType).AbsPath(crd).Body([]byte(patch)).Do(w.ctx).Error())
}

// keeps checks that fields of a policy that this nodefence does not know are still there after it
// has written the policy's status, and that the status names them.
func (w *world) keeps(policy, field string) {
	w.t.Helper()
	w.until("policy "+policy+" to say that "+field+" is not understood", func() (bool, error) {
		raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/" + policy).DoRaw(w.ctx)
		if err == nil && !strings.Contains(string(raw), `"`+field+`":true`) {
			return false, errors.New(field + " is gone")
		}
		return strings.Contains(string(raw), "FencePolicy "+policy+" has spec."+field+", which this nodefence does not know"), err
	})
}

func (w *world) stop(on bool) {
	w.t.Helper()
	body := fmt.Sprintf(`{"spec":{"stop":%t}}`, on)
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster").Body([]byte(body)).Do(w.ctx).Error())
}

// breaks makes a node report that it is broken, or no longer.
func (w *world) breaks(node string, status corev1.ConditionStatus) {
	w.t.Helper()
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":"Broken","status":%q,"reason":"Test","lastTransitionTime":%q}]}}`, status, time.Now().UTC().Format(time.RFC3339))
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, node, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
	must(w.t, err)
}

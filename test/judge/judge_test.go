package judge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/judge"
)

// plants are histories by what was planted into them, and the promise that the judge must find broken.
// Where it is empty, the history keeps every promise.
var plants = map[string]struct {
	plant   func(*made)
	promise string
}{
	"a whole fence": {whole, ""},
	"two fences, one after the other": {func(m *made) {
		whole(m)
		m.fence.Status = newFence("n1", 2).Status
		m.fence.Status.OpenedAt = stamp(m.now)
		whole(m)
	}, ""},

	"a second Off": {func(m *made) {
		m.cutNode()
		m.after(5).told("off", "")
	}, "S8"},
	"a second Off under one claim": {func(m *made) {
		m.isolate()
		m.claim(api.CallOff)
		m.told("off", "")
		m.told("off", "")
		m.endClaim()
	}, "S7"},
	"an Off that is tried again soon, under a claim of its own": {func(m *made) {
		m.cutNode()
		m.after(1).off()
	}, ""},
	"an Off after its claim": {func(m *made) {
		m.isolate()
		m.claim(api.CallOff)
		m.after(25).told("off", "")
	}, "S8"},
	"an On without a claim": {func(m *made) { m.cutNode(); m.after(5).told("on", "") }, "S8"},
	"an On of a machine that somebody else has switched off": {func(m *made) {
		m.isolate()
		m.proveOff()
		m.claim(api.CallOn)
		m.told("on", "")
	}, "S12"},
	"an On of a machine that nodefence has switched off": {func(m *made) {
		m.proveNodeOff()
		m.claim(api.CallOn)
		m.told("on", "")
	}, ""},
	"a second On by one Off": {func(m *made) {
		m.proveNodeOff()
		m.on()
		m.ask("on")
		m.after(30).on()
	}, "S12"},
	"an On that is tried again": {func(m *made) {
		m.proveNodeOff()
		m.on()
		m.ask("off")
		m.after(5).on()
	}, ""},
	"an On for each Off": {func(m *made) {
		m.isolate()
		for range 2 {
			m.off()
			m.ask("off")
			m.on()
			m.after(5).ask("on")
		}
	}, ""},
	"an On after a boot that took too long": {func(m *made) {
		m.cutNode()
		m.on()
		m.ask("on")
		m.after(30)
		m.fence.Status.Reason = api.BootTimedOut
		m.save("recover")
		m.on()
	}, ""},
	"an Off of before the log begins": {func(m *made) {
		m.bmc = append(m.bmc, fmt.Sprintf(`{"controller":"n1","address":%q,"time":%q,"command":"off","accepted":true}`, bmcAddress, at(-5).Format(time.RFC3339Nano)))
		m.isolate()
	}, ""},
	"an Off of before the log begins, and no record": {func(m *made) {
		m.bmc = append(m.bmc, fmt.Sprintf(`{"controller":"n1","address":%q,"time":%q,"command":"off","accepted":true}`, bmcAddress, at(-5).Format(time.RFC3339Nano)))
	}, ""},
	"an Off by a claim of before the log begins": {func(m *made) {
		m.told("off", "")
		m.endClaim()
	}, ""},
	"an Off long after the log begins, and before any version of the record": {func(m *made) {
		m.after(180).told("off", "")
		m.endClaim()
	}, "S8"},
	"an Off before the record is created": {func(m *made) {
		m.told("off", "")
		m.log("create", "gate", "nodefences", "", "n1", &m.fence, &m.fence)
	}, "S8"},
	"a power cycle":                {func(m *made) { m.isolate(); m.told("cycle", "") }, "S4"},
	"a command of somebody else's": {func(m *made) { m.lies = declare(judge.OthersSwitch); m.told("off", "") }, ""},
	"an Off of another device": {func(m *made) {
		m.fence.Status.Decision.Devices[0].Address = "127.0.0.1:1"
		m.cutNode()
	}, "S11"},
	"an Off without a slot": {func(m *made) {
		m.save("gate")
		m.off()
	}, "S14"},

	"an Off in a pause": {func(m *made) {
		m.isolate()
		m.policy.Spec.PauseRequests = []string{"upgrade"}
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).off()
	}, "S25"},
	"an Off in a pause of a policy that only limits": {func(m *made) {
		m.limit(0)
		m.isolate()
		m.after(10).off()
	}, "S25"},
	"an Off in a pause that a person has skipped": {func(m *made) {
		m.limit(3)
		m.isolate()
		m.after(10).off()
	}, ""},
	"an Off right before a pause could be seen": {func(m *made) {
		m.isolate()
		m.policy.Spec.PauseRequests = []string{"upgrade"}
		m.write("person", "fencepolicies", &m.policy)
		m.off()
	}, ""},
	"an Off after a pause": {func(m *made) {
		m.policy.Spec.PauseRequests = []string{"upgrade"}
		m.write("person", "fencepolicies", &m.policy)
		m.policy.Spec.PauseRequests = nil
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).isolate()
		m.off()
	}, ""},
	"an Off in a pause window": {func(m *made) {
		m.policy.Spec.PauseWindows = []api.PauseWindowRule{{Start: "02:00", Duration: "2h"}}
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).isolate()
		m.off()
	}, "S25"},
	"an Off outside of a pause window": {func(m *made) {
		m.policy.Spec.PauseWindows = []api.PauseWindowRule{{Start: "02:00", Duration: "1h"}, {Days: []api.Weekday{"Sunday"}, Start: "02:00", Duration: "2h"}}
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).isolate()
		m.off()
	}, ""},
	"an Off while nodefence is stopped": {func(m *made) {
		m.isolate()
		m.ledger.Spec.Stop = true
		m.write("person", "fenceledgers", &m.ledger)
		m.after(10).off()
	}, "S25"},
	"an Off in a storm": {func(m *made) {
		m.isolate()
		m.ledger.Status.Storms = []api.Storm{{Since: *stamp(m.now), Policy: "all"}}
		m.write("policystatus", "fenceledgers/status", &m.ledger)
		m.after(10).off()
	}, "S25"},
	"an Off after an abort": {func(m *made) {
		m.isolate()
		m.fence.Spec.Requests.Abort = &api.AbortRequest{By: "person", At: metav1.NewTime(at(m.now))}
		m.write("person", "nodefences", &m.fence)
		m.off()
	}, "S25"},
	"an Off that nobody has approved": {func(m *made) {
		m.policy.Spec.Mode = api.ModeRequireApproval
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).isolate()
		m.off()
	}, "S17"},

	"an Off of a node that was excluded": {func(m *made) {
		m.isolate()
		m.node.Labels = map[string]string{"remediation.medik8s.io/exclude-from-remediation": "true"}
		m.write("person", "nodes", &m.node)
		m.after(10).off()
	}, "S17"},
	"an Off under mode DryRun": {func(m *made) {
		m.policy.Spec.Mode = api.ModeDryRun
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).isolate()
		m.off()
	}, "S17"},
	"an Off under a policy that was deleted": {func(m *made) {
		m.isolate()
		m.log("delete", "person", "fencepolicies", "", "all", nil, &m.policy)
		m.after(10).off()
	}, "S17"},

	"a slot too many": {func(m *made) {
		m.isolate()
		other := newFence("n2", 1)
		m.write("gate", "nodefences/status", &other)
		m.reserve(&other)
	}, "S14"},
	"a slot too many, with the first one lost": {func(m *made) {
		m.isolate()
		m.ledger.Status.Reservations = nil
		m.write("gate", "fenceledgers/status", &m.ledger)
		other := newFence("n2", 1)
		m.write("gate", "nodefences/status", &other)
		m.reserve(&other)
	}, "S14"},
	"room for two": {func(m *made) {
		two := int32(2)
		m.policy.Spec.Limits.MaxConcurrent = &two
		m.write("person", "fencepolicies", &m.policy)
		m.isolate()
		other := newFence("n2", 1)
		m.write("gate", "nodefences/status", &other)
		m.reserve(&other)
	}, ""},
	"a slot too many in a domain": {func(m *made) {
		two, one := int32(2), int32(1)
		m.policy.Spec.Limits = api.Limits{MaxConcurrent: &two, PerDomain: &api.DomainLimits{TopologyKey: "zone", MaxConcurrent: &one}}
		m.write("person", "fencepolicies", &m.policy)
		m.domain = "west"
		m.isolate()
		other := newFence("n2", 1)
		m.write("gate", "nodefences/status", &other)
		m.reserve(&other)
	}, "S14"},
	"a fence too many in a time": {func(m *made) {
		m.policy.Spec.Limits.MaxRate = &api.Rate{Count: 1, Period: "1h"}
		m.write("person", "fencepolicies", &m.policy)
		m.after(10)
		for _, node := range []string{"n1", "n2"} {
			m.ledger.Status.Admitted = append(m.ledger.Status.Admitted, api.Reservation{NodeName: node, FenceUID: "u" + "id", FenceNumber: int64(len(node) + len(m.ledger.Status.Admitted)), At: *stamp(m.now), CountedBy: []api.CountedBy{{Policy: "all"}}})
			m.write("gate", "fenceledgers/status", &m.ledger)
		}
	}, "S14"},
	"a fence too many in a time, as a restore has it": {func(m *made) {
		m.policy.Spec.Limits.MaxRate = &api.Rate{Count: 1, Period: "1h"}
		m.write("person", "fencepolicies", &m.policy)
		m.after(10).lines = append(m.lines, `{"kind":"Restored"}`)
		m.after(10).write("person", "fencepolicies", &m.policy)
		for n := range int64(2) {
			m.ledger.Status.Admitted = append(m.ledger.Status.Admitted, api.Reservation{NodeName: "n1", FenceUID: "uid", FenceNumber: n + 1, At: *stamp(m.now), CountedBy: []api.CountedBy{{Policy: "all"}}})
		}
		m.after(10).write("gate", "fenceledgers/status", &m.ledger)
	}, ""},
	"Jobs of checks as a restore has them": {func(m *made) {
		m.lines = append(m.lines, `{"kind":"Restored"}`)
		m.ledger.Status.Checking = []api.CheckingFence{{NodeName: "n1", FenceNumber: 1, Jobs: 26}}
		m.write("gate", "fenceledgers/status", &m.ledger)
	}, ""},
	"a Job of a check too many": {func(m *made) {
		m.ledger.Status.Checking = []api.CheckingFence{{NodeName: "n1", FenceNumber: 1, Jobs: 26}}
		m.write("gate", "fenceledgers/status", &m.ledger)
	}, "S14"},

	"a release on one read": {func(m *made) {
		m.cutNode()
		m.prove(m.read())
		m.batch()
		m.deletePod()
	}, "S1"},
	"a proof of two reads in a row": {func(m *made) {
		m.cutNode()
		m.prove(m.read(), m.read())
	}, "S5"},
	"a proof of a read that nobody made": {func(m *made) {
		m.cutNode()
		first := m.read()
		m.after(5)
		m.prove(first, api.Read{State: api.PoweredOff, At: *stamp(m.now)})
	}, "S1"},
	"a proof with a read of on between": {func(m *made) {
		m.cutNode()
		first := m.read()
		m.after(2).told("status", "on")
		m.after(3)
		m.prove(first, m.read())
	}, "S1"},
	"a proof with a Lease that moves between": {func(m *made) {
		m.cutNode()
		first := m.read()
		m.after(2).renew()
		m.after(3)
		m.prove(first, m.read())
	}, "S5"},
	"a proof of another fence": {func(m *made) {
		m.cutNode()
		m.proveOff()
		m.fence.Status.FenceNumber = 2
		m.fence.Status.Proof.FenceNumber = 1
		m.save("cleanup")
	}, "S3"},
	"a confirmation against a device that reads on": {func(m *made) {
		m.confirm("person")
		m.ask("off")
		m.after(5).ask("on")
		m.after(1).proveByWord("person")
	}, "S1"},
	"a confirmation after one read": {func(m *made) {
		m.confirm("person")
		m.ask("off")
		m.after(5).proveByWord("person")
	}, "S1"},
	"a confirmation that nobody made": {func(m *made) { m.isolate(); m.proveByWord("person") }, "S1"},
	"a confirmation": {func(m *made) {
		m.confirm("person")
		m.ask("off")
		m.after(5).ask("off")
		m.proveByWord("person")
		m.deletePod()
	}, ""},
	"a confirmation that is used twice": {func(m *made) {
		m.confirm("person")
		m.ask("off")
		m.after(5).ask("off")
		m.proveByWord("person")
		m.fence.Status.FenceNumber, m.fence.Spec.Requests.ConfirmOff.FenceNumber = 2, 2
		m.after(1).proveByWord("person")
	}, "S20"},

	"a release without a proof": {func(m *made) { m.cutNode(); m.deletePod() }, "S1"},
	"a release of no batch": {func(m *made) {
		m.proveNodeOff()
		m.deletePod()
	}, "S1"},
	"a release after its batch": {func(m *made) {
		m.proveNodeOff()
		m.batch()
		m.after(12).deletePod()
	}, "S1"},
	"a release after a Lease moved": {func(m *made) {
		m.proveNodeOff()
		m.after(3).renew()
		m.after(7).batch()
		m.deletePod()
	}, "S3"},
	"a release after a Lease moved, as the record says": {func(m *made) {
		m.proveNodeOff()
		m.after(1.5).renew()
		m.fence.Status.Lease.Renewed = at(m.now - 0.01).Format(time.RFC3339Nano)
		m.batch()
		m.deletePod()
	}, "S3"},
	"a release after a Lease moved, in the last batch": {func(m *made) {
		m.proveNodeOff()
		m.batch()
		m.after(1).renew()
		m.after(6).batch()
		m.deletePod()
	}, "S3"},
	"a release after a Lease that moved before the cut": {func(m *made) {
		m.fence.Status.Lease.Renewed = at(m.now).Format(time.RFC3339Nano)
		m.renew()
		m.proveNodeOff()
		m.batch()
		m.deletePod()
	}, ""},
	"a release of a Node that a restore has brought back": {func(m *made) {
		m.proveNodeOff()
		m.node.UID = "other"
		m.write("person", "nodes", &m.node)
		m.lines = append(m.lines, `{"kind":"Restored"}`)
		m.batch()
		m.deletePod()
	}, ""},
	"a release right before the Lease could be seen": {func(m *made) {
		m.proveNodeOff()
		m.after(1.5).renew()
		m.after(1).batch()
		m.deletePod()
	}, ""},
	"a release on an old proof": {func(m *made) {
		m.proveNodeOff()
		m.after(35).batch()
		m.deletePod()
	}, "S3"},
	"a release after a boot": {func(m *made) {
		m.proveNodeOff()
		m.after(3).log("patch", "kubelet", "nodes/status", "", "n1", map[string]any{"status": map[string]any{"nodeInfo": map[string]string{"bootID": "boot-2"}}}, nil)
		m.after(7).batch()
		m.deletePod()
	}, "S3"},
	"a release of another Node": {func(m *made) {
		m.proveNodeOff()
		m.node.UID = "other"
		m.write("person", "nodes", &m.node)
		m.batch()
		m.deletePod()
	}, "S6"},
	"the out-of-service taint by a proof for pods": {func(m *made) {
		m.isolate()
		m.prove(api.Read{State: api.PoweredOff, At: *stamp(m.now)}, api.Read{State: api.PoweredOff, At: *stamp(m.now + 5)})
		m.fence.Status.Proof.Type, m.fence.Status.Proof.Device = api.ProofStorageCut, "storage-1"
		m.after(5).batch()
		m.placeOutOfService()
	}, "S1"},

	"the out-of-service taint on a node that is on": {func(m *made) {
		m.proveNodeOff()
		m.after(2).told("status", "on")
		m.after(7).batch()
		m.placeOutOfService()
	}, "S23"},
	"the out-of-service taint": {func(m *made) {
		m.proveNodeOff()
		m.batch()
		m.placeOutOfService()
		m.deletePod()
		m.recover()
	}, ""},
	"a release of all Pods at once": {func(m *made) {
		m.cutNode()
		m.deletePods()
	}, "S1"},
	"a deletion without a UID": {func(m *made) {
		m.proveNodeOff()
		m.batch()
		m.deleteBy(nil)
	}, "S6"},

	"evidence that is used twice": {func(m *made) {
		m.cutNode()
		first := m.read()
		m.after(5)
		second := m.read()
		m.prove(first, second)
		m.after(5)
		m.prove(second, m.read())
	}, "S3"},
	"evidence that is used again after a restore": {func(m *made) {
		m.cutNode()
		first := m.read()
		m.after(5)
		second := m.read()
		m.prove(first, second)
		m.lines = append(m.lines, `{"kind":"Restored"}`)
		m.after(5)
		m.prove(second, m.read())
	}, ""},
	"a request that is served twice": {func(m *made) {
		m.fence.Status.Decision.AskedBy = []api.AskedBy{{ID: "e1", Source: "/west"}}
		whole(m)
		m.fence.Status.FenceNumber, m.fence.Status.Phase = 2, api.Pending
		m.save("gate")
	}, "S18"},

	"a taint that is left": {func(m *made) { m.isolate(); m.end() }, "S22"},
	"an annotation that is left": {func(m *made) {
		m.isolate()
		m.node.Annotations = map[string]string{api.OutOfServiceBy: "fence-n1"}
		m.recover()
	}, "S22"},
	"a taint of somebody else's": {func(m *made) {
		m.isolate()
		m.node.Spec.Taints = []corev1.Taint{{Key: api.IsolationTaint}}
		m.write("person", "nodes", &m.node)
		m.end()
	}, ""},
	"a taint that comes late": {func(m *made) {
		whole(m)
		m.node.Spec.Taints = []corev1.Taint{{Key: api.IsolationTaint, Value: "fence-n1"}}
		m.after(5).write("isolate", "nodes", &m.node)
	}, "S22"},
	"a taint that a restore brings back": {func(m *made) {
		whole(m)
		m.lines = append(m.lines, `{"kind":"Restored"}`)
		m.node.Spec.Taints = []corev1.Taint{{Key: api.IsolationTaint, Value: "fence-n1"}}
		m.after(5).write("isolate", "nodes", &m.node)
	}, ""},
	"a cordon that is left": {func(m *made) {
		m.isolate()
		m.node.Spec.Unschedulable = true
		m.write("isolate", "nodes", &m.node)
		m.recover()
	}, "S22"},
	"a cordon of a person's": {func(m *made) {
		m.node.Spec.Unschedulable = true
		m.write("person", "nodes", &m.node)
		whole(m)
	}, ""},

	"a record that is deleted once the taint is off": {func(m *made) {
		m.isolate()
		gone := metav1.NewTime(at(m.now))
		m.fence.DeletionTimestamp, m.fence.Finalizers = &gone, []string{api.Finalizer}
		m.save("recover")
		m.node.Spec.Taints = nil
		m.write("recover", "nodes", &m.node)
		m.fence.Finalizers = nil // the answer has the resourceVersion of before
		m.log("patch", "recover", "nodefences", "", "n1", nil, &m.fence)
	}, ""},
	"a record that is deleted with its taint on": {func(m *made) {
		m.isolate()
		m.log("delete", "person", "nodefences", "", "n1", nil, &m.fence)
	}, "S22"},

	"two writers": {func(m *made) { m.writer("start", "n1"); m.writer("start", "n2") }, "S1"},
	"one writer after the other": {func(m *made) {
		m.writer("start", "n1")
		m.after(1).writer("stop", "n1")
		m.writer("start", "n2")
	}, ""},
	"two writers, one of before a restore": {func(m *made) {
		m.writer("start", "n1")
		m.after(1).lines = append(m.lines, `{"kind":"Restored"}`)
		m.write("kubelet", "nodes", &m.node)
		m.after(1).writer("start", "n2")
	}, ""},
	"two writers by a false word": {func(m *made) {
		m.lies = declare(judge.FalseWord)
		m.writer("start", "n1")
		m.writer("start", "n2")
	}, ""},
}

// eight are the plants that the judge has to find before it is believed.
var eight = []string{
	"a second Off", "an Off in a pause", "a release on one read", "a release after a Lease moved", "a slot too many", "evidence that is used twice",
	"a taint that is left", "two writers",
}

// TestTheEightAreAmongThePlants, each as a breach. TestPlantedBreachesAreFound plants them.
func TestTheEightAreAmongThePlants(t *testing.T) {
	for _, name := range eight {
		if plants[name].promise == "" {
			t.Errorf("no plant %q is a breach", name)
		}
	}
}

func declare(kind judge.Kind) []judge.Declared { return []judge.Declared{{Kind: kind, Node: "n1"}} }

// confirm isolates the node, and writes a person's confirmation.
func (m *made) confirm(by string) {
	m.isolate()
	m.fence.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: by, At: metav1.NewTime(at(m.now))}}
	m.write(by, "nodefences", &m.fence)
}

// limit adds to the fence's policies a paused one, of which a person may have lifted the limit for this fence.
func (m *made) limit(skipFrom int32) {
	m.fence.Status.Decision.Limits = append(m.fence.Status.Decision.Limits, api.ScopedLimits{Policy: "zone", MaxUnhealthy: intstr.FromInt32(1), MaxConcurrent: 1, SkipFrom: skipFrom})
	zone := api.FencePolicy{TypeMeta: m.policy.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: "zone"}}
	zone.Spec = api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, PauseRequests: []string{"upgrade"}}
	m.write("person", "fencepolicies", &zone)
}

// on claims an On, sends it, and saves that it has ended.
func (m *made) on() {
	m.claim(api.CallOn)
	m.told("on", "")
	m.endClaim()
}

// ask reads the BMC under a claim.
func (m *made) ask(says string) {
	m.claim(api.CallRead)
	m.told("status", says)
	m.endClaim()
}

// proveByWord saves a proof by the word of a person.
func (m *made) proveByWord(by string) {
	m.fence.Status.Proof = &api.Proof{Type: api.ProofConfirmed, FenceUID: m.fence.UID, FenceNumber: m.fence.Status.FenceNumber, NodeUID: "node-uid", By: by, At: *stamp(m.now)}
	m.fence.Status.Phase = api.Releasing
	m.batch()
}

// TestPlantedBreachesAreFound: each history breaks exactly the promise that was planted.
func TestPlantedBreachesAreFound(t *testing.T) {
	for name, c := range plants {
		t.Run(name, func(t *testing.T) {
			m := newMade(t)
			c.plant(m)
			v := m.judge()
			switch {
			case c.promise == "" && len(v.Breaches) > 0:
				t.Errorf("a history that keeps every promise:\n%s", v)
			case c.promise != "" && len(v.Breaches) == 0:
				t.Errorf("the breach of %s is not found:\n%s", c.promise, v)
			}
			for _, b := range v.Breaches {
				if !strings.HasPrefix(b.Promise, c.promise+":") || len(b.Against) == 0 {
					t.Errorf("want a breach of %s, with the lines that contradict it, not\n%s", c.promise, &b)
				}
			}
		})
	}
}

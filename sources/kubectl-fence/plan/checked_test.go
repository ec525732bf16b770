package plan

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

const (
	targetA  = "/apis/nodefence.io/v1alpha1/fencetargets/a"
	ledger   = "/apis/nodefence.io/v1alpha1/fenceledgers/cluster"
	policies = "/apis/nodefence.io/v1alpha1/fencepolicies"
	fences   = "/apis/nodefence.io/v1alpha1/nodefences"
)

// watched has the source at work, since an hour.
func (c cluster) watched() cluster {
	stamp := func(ago time.Duration) string {
		return time.Now().UTC().Add(-ago).Format("2006-01-02T15:04:05.000000Z")
	}
	return c.with(ledger, `{"status": {"leases": {"observedAt": "`+stamp(time.Second)+`", "since": "`+stamp(time.Hour)+`", "renewal": "10s", "total": 3}}}`)
}

// changed has something else in its policy.
func (c cluster) changed(old, new string) cluster {
	return c.with(policies, strings.Replace(string(c[policies].(json.RawMessage)), old, new, 1))
}

// report is what the program says of node a, with its exit code.
func (c cluster) report(t *testing.T, args ...string) (Report, int) {
	t.Helper()
	code, out, problems := c.plan(t, append(args, "-o", "json", "a")...)
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, out, problems)
	}
	return r, code
}

func targetOf(reason api.Reason, message string) api.FenceTarget {
	at := metav1.NewMicroTime(time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC))
	return api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: api.FenceTargetStatus{NodeUID: "uid-a", Devices: []api.TargetDevice{
		{Driver: "ipmi", Role: api.RolePower, Address: "192.0.2.7:623", Reason: reason, Message: message, LastChecked: &at},
	}}}
}

// TestWhatTheFenceTargetSays is shown, and a device that is known not to answer is no plan.
func TestWhatTheFenceTargetSays(t *testing.T) {
	const read = "checked ipmi 192.0.2.7:623: "
	another := targetOf(api.DeviceUnreachable, "no")
	another.Status.Devices[0].Address = "192.0.2.6:623"
	for name, tc := range map[string]struct {
		target any
		fences string
		code   int
		want   string
	}{
		"it answers":                      {targetOf(api.DeviceAnswers, ""), "", 0, read + "DeviceAnswers, read at 2026-11-22T08:00:00Z"},
		"it does not":                     {targetOf(api.DeviceUnreachable, "no answer"), "", 1, read + "DeviceUnreachable, read at 2026-11-22T08:00:00Z: no answer"},
		"a person is the device":          {targetOf(api.ManualOnly, "ask"), "", 0, read + "ManualOnly, read at 2026-11-22T08:00:00Z: ask"},
		"another address did not":         {another, "", 0, read + "NotCheckedYet: it was not read yet as it is configured now"},
		"there is none":                   {nil, "", 0, read + "NotCheckedYet: it was not read yet as it is configured now"},
		"it did not before a fence began": {targetOf(api.DeviceUnreachable, "no"), `{"items": [{"spec": {"nodeName": "a"}, "status": {"fenceNumber": 1, "phase": "Fencing"}}]}`, 0, read + "DeviceUnreachable, read at 2026-11-22T08:00:00Z: no"},
	} {
		t.Run(name, func(t *testing.T) {
			c := running(own(bmc)).watched()
			if tc.target != nil {
				c[targetA] = tc.target
			}
			if tc.fences != "" {
				c.with(fences, tc.fences)
			}
			code, out, problems := c.plan(t, "a")
			if code != tc.code || !strings.Contains(strings.Join(strings.Fields(out), " "), tc.want) {
				t.Errorf("exit code %d: %s%s\nwant %s", code, out, problems, tc.want)
			}
		})
	}
	c := running(own(bmc)).watched()
	c[targetA] = targetOf(api.DeviceUnreachable, "no answer")
	if code, out, _ := c.plan(t, "--all"); code != refused || !strings.Contains(out, "ipmi 192.0.2.7:623: DeviceUnreachable: no answer") {
		t.Errorf("of all: exit code %d: %s", code, out)
	}
}

// TestTheGatesPicture: what would be said is what the gate says.
func TestTheGatesPicture(t *testing.T) {
	const quorum = `"mode": "Enforce", "controlPlane": {"fence": "WithQuorum"}`
	controlPlane := func(c cluster, ready string) cluster {
		nodes, pods := []string{}, []string{}
		for _, n := range []string{"a", "b", "c"} {
			is := "True"
			if n == "b" {
				is = ready
			}
			nodes = append(nodes, `{"metadata": {"name": "`+n+`", "uid": "uid-`+n+`", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "status": {"conditions": [{"type": "Ready", "status": "`+is+`"}]}}`)
			pods = append(pods, `{"metadata": {"name": "etcd-`+n+`", "labels": {"component": "etcd"}}, "spec": {"nodeName": "`+n+`"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
		}
		return c.changed(`"mode": "Enforce"`, quorum).changed(`"40%"`, `"100%"`).
			with("/api/v1/nodes", `{"items": [`+strings.Join(nodes, ",")+`]}`).with("/api/v1/namespaces/kube-system/pods", `{"items": [`+strings.Join(pods, ",")+`]}`)
	}
	since := time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05.000000Z")
	for name, tc := range map[string]struct {
		cluster cluster
		want    Report
	}{
		"all is well":                     {running(own(bmc)).watched(), Report{Now: "would begin"}},
		"a person must approve":           {running(own(bmc)).watched().changed(`"Enforce"`, `"RequireApproval", "approvalTimeout": "1h"`), Report{Now: "would wait for a person: WaitingForApproval: a person must approve (spec.requests.approve), until "}},
		"a control-plane node":            {controlPlane(running(own(bmc)).watched(), "True"), Report{Now: "would begin"}},
		"another one of etcd is not well": {controlPlane(running(own(bmc)).watched(), "False"), Report{Now: "would be held: EtcdQuorum: "}},
		"an expected node is missing": {running(own(bmc)).watched().with(policies, strings.Replace(string(running()[policies].(json.RawMessage)), `"spec"`, `"status": {"missing": [{"nodeName": "d", "since": "`+since+`"}]}, "spec"`, 1)),
			Report{Now: "would be held: TooManyUnhealthy: policy workers (generation 2): 2 of 4 nodes are unhealthy, maxUnhealthy is 40% (1)"}},
		"few nodes": {running(own(bmc)).watched().changed(`"40%"`, `"30%"`), Report{Now: "would begin"}},
		"none at all": {running(own(bmc)).watched().changed(`"40%"`, `"0%"`), Report{
			Now:   "would be held: TooManyUnhealthy: policy workers (generation 2): 1 of 3 nodes are unhealthy, maxUnhealthy is 0% (0)",
			Notes: []string{"policy workers: with this node alone 1 of 3 nodes are unhealthy, maxUnhealthy is 0% (0), so that no fence ever begins; raise maxUnhealthy"}}},
		"two policies": {running(own(bmc)).watched().with(policies, strings.Replace(string(running()[policies].(json.RawMessage)), `{"items": [`, `{"items": [{"metadata": {"name": "all"}, "spec": {"selector": {}, "mode": "Enforce", "action": "Reboot", "precedence": 100, "unhealthyConditions":[{"type": "Ready", "status": "Unknown"}]}},`, 1)),
			Report{Refused: "PolicyConflict: policies all and workers have the same precedence and both select this node: give one of them another spec.precedence, or selectors that do not both select it"}},
		"a field of tomorrow": {running(own(bmc)).watched().changed(`"mode"`, `"drainFirst": true, "mode"`),
			Report{Refused: "PolicyNotUnderstood: FencePolicy workers has spec.drainFirst, which this nodefence does not know: upgrade nodefence, or take the field out"}},
		"a budget with one": {running(own(bmc)).watched().with("/apis/nodefence.io/v1alpha1/fencebudgets", `{"items": [{"metadata": {"name": "osd"}, "spec": {"selector": {}, "minAvailable": 1, "perZone": true}}]}`),
			Report{Refused: "PolicyNotUnderstood: FenceBudget osd has spec.perZone, which this nodefence does not know: upgrade nodefence, or take the field out"}},
		"a ledger with one": {running(own(bmc)).watched().with(ledger, `{"metadata": {"name": "cluster"}, "spec": {"stopNodes": ["a"]}}`),
			Report{Refused: "PolicyNotUnderstood: FenceLedger cluster has spec.stopNodes, which this nodefence does not know: upgrade nodefence, or take the field out"}},
		"nodefence is not running": {running(own(bmc)).with(ledger, `{"metadata": {"name": "cluster"}}`),
			Report{Now: "nodefence has not looked at the Leases yet: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)"}},
		"nodefence ran once": {running(own(bmc)).with(ledger, `{"status": {"leases": {"observedAt": "2026-01-02T03:04:05.000000Z", "since": "2026-01-02T03:00:00.000000Z", "renewal": "10s", "total": 3}}}`),
			Report{Now: "nodefence has not looked at the Leases since 2026-01-02T03:04:05Z: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)"}},
		"it is not running, and would hold": {running(own(bmc)).changed(`"Enforce"`, `"DryRun"`).with(ledger, `{"metadata": {"name": "cluster"}}`),
			Report{Now: "nodefence has not looked at the Leases yet: no fence begins; no source leads: there is no Lease nodefence-system/nodefence-source (LeasePictureOld)"}},
		"a dry run": {running(own(bmc)).watched().changed(`"Enforce"`, `"DryRun"`), Report{Now: "DryRun: would begin; policy workers (generation 2) is in DryRun"}},
		"a dry run that limits hold": {running(own(bmc)).watched().changed(`"Enforce"`, `"DryRun"`).changed(`"40%"`, `"0%"`), Report{
			Now:   "DryRun: would be held by TooManyUnhealthy: policy workers (generation 2): 1 of 3 nodes are unhealthy, maxUnhealthy is 0% (0); policy workers (generation 2) is in DryRun",
			Notes: []string{"policy workers: with this node alone 1 of 3 nodes are unhealthy, maxUnhealthy is 0% (0), so that no fence ever begins; raise maxUnhealthy"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := tc.cluster.report(t)
			if held, begins := got.Held(), got.Now == wouldBegin || strings.HasPrefix(got.Now, wouldAsk); (held == "") != begins {
				t.Errorf("held: %q", held)
			}
			if n := len(tc.want.Now); strings.HasSuffix(tc.want.Now, " ") && len(got.Now) > n {
				got.Now = got.Now[:n]
			}
			if d := cmp.Diff(tc.want, Report{Refused: got.Refused, Now: got.Now, Notes: got.Notes}); d != "" || code != map[bool]int{true: refused}[tc.want.Refused != ""] {
				t.Errorf("exit code %d: %s", code, d)
			}
		})
	}
}

// asked is nodefence, which heeds a wish.
func (c cluster) asked(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	var wish api.FenceTarget
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil || r.URL.Path != targetA {
		t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	stored, ok := c[targetA].(api.FenceTarget)
	if !ok {
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	now := metav1.NowMicro()
	stored.Annotations = wish.Annotations
	kubetest.Answer(w, stored) // and only then it is heeded
	stored.Status.Devices[0].Reason, stored.Status.Devices[0].Message = api.DeviceAnswers, ""
	stored.Status.CheckNow = &api.CheckNow{Value: stored.AskedNow(), At: now, DoneAt: &now}
	c[targetA] = stored
}

// TestRead asks for a check, waits until it is heeded, and says what came of it.
func TestRead(t *testing.T) {
	c := running(own(bmc)).watched()
	c[targetA] = targetOf(api.DeviceUnreachable, "no")
	if r, code := c.report(t, "--read"); code != 0 || len(r.Checked) != 1 || r.Checked[0].Reason != api.DeviceAnswers {
		t.Errorf("exit code %d: %+v", code, r.Checked)
	}
	for name, tc := range map[string]struct {
		node, want string
	}{
		"a node that is not there": {"x", "node x does not exist; there are a, b, c\n"},
		"who may not ask":          {"a", "ask for a check of node a: "},
	} {
		code, out, problems := running(own(bmc)).watched().plan(t, "--read", tc.node)
		if code != failed || out != "" || !strings.HasPrefix(problems, tc.want) {
			t.Errorf("%s: exit code %d: %s%s", name, code, out, problems)
		}
	}
}

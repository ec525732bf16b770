package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestADrillIsFollowed through answers that say nothing, and no further than its own fence. What a device says begins
// no line.
func TestADrillIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		record api.NodeFence
		want   string
	}{
		"its own is over": {api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 3, Phase: api.Finished, Outcome: api.Aborted, History: []api.HistoryEntry{
			{Phase: api.Fencing, Reason: api.SeenOff, Message: "off\x1b[2K\r\nproof"},
		}}}, "the drill of node a has failed"},
		"another is open": {api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 4, Phase: api.Pending}}, "fence 3 of node a is over, and fence 4 has begun"},
	} {
		refused := map[string]bool{}
		cfg := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !refused[r.URL.Path] {
				refused[r.URL.Path] = true
				kubetest.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
				return
			}
			if strings.Contains(r.URL.Path, "fencerequests") {
				q := api.FenceRequest{}
				q.Status.NodeFence.FenceNumber = 3
				kubetest.Answer(w, q)
				return
			}
			tc.record.Spec.NodeName = "a"
			kubetest.Answer(w, tc.record)
		}))
		c, err := cluster.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var out, problems strings.Builder
		a := &acting{program: &program{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &problems}}}
		q := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: api.FenceRequestSpec{NodeName: "a"}}
		if err := a.drill(t.Context(), c, q); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if said := out.String(); tc.record.Status.History != nil && !strings.Contains(said, "Fencing     SeenOff: off [2K  proof\n") {
			t.Errorf("%s: %q", name, said)
		}
		if n := strings.Count(fmt.Sprint(&problems), "goes on"); n != 1 {
			t.Errorf("%s: told %d times: %s", name, n, &problems)
		}
	}
}

// drillable is a cluster with a healthy node a, whose device nodefence has just read; leases are those
// of the ledger's status.
func drillable(leases string) served {
	s := calm()
	read := stamp(0)
	s["/api/v1/nodes"] = json.RawMessage(`{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`)
	s[own+"nodefences"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFenceList","items":[]}`)
	target := `{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceTarget","metadata":{"name":"a"},"status":{"nodeUID":"n","conditions":[{"type":"Fenceable","status":"True","reason":"DeviceAnswers","message":"m"}],
		"devices":[{"driver":"ipmi","address":"192.0.2.7:623","role":"Power","reason":"DeviceAnswers","lastChecked":"` + read + `"}]}}`
	s[own+"fencetargets"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceTargetList","items":[` + target + `]}`)
	s[own+"fencetargets/a"] = json.RawMessage(target)
	s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},"status":{` + leases + `}}`)
	for _, kind := range []string{"fencebudgets", "nodeproblempolicies"} {
		s[own+kind] = json.RawMessage(`{"items":[]}`)
	}
	s["/api/v1/namespaces/nodefence-system/configmaps"] = json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"fence-config-node-a","resourceVersion":"1"},
		"data":{"config.properties":"node_name=a\nisolation=cordon\npower_management=bmc\nrecovery=uncordon","fence-method-bmc":"agent_name=fence_ipmilan\naction=reboot\nip=192.0.2.7\nusername=fence\nsecret=bmc-a"}}]}`)
	s["/api/v1/namespaces/nodefence-devices/secrets/bmc-a"] = http.StatusForbidden
	return s
}

// stamp is the time so long ago.
func stamp(ago time.Duration) string {
	return time.Now().UTC().Add(-ago).Format("2006-01-02T15:04:05.000000Z")
}

// TestADrillThatWouldBeHeld is refused before anybody is asked, and so is one that would not bring the
// machine back. nodefence keeps no binding of the node here: what its devices do, its ConfigMap alone says.
func TestADrillThatWouldBeHeld(t *testing.T) {
	leases := `"leases":{"observedAt":"` + stamp(time.Second) + `","since":"` + stamp(time.Hour) + `","renewal":"10s","total":1}`
	for name, c := range map[string]struct {
		leases  string
		instead []string // of what the cluster has, in pairs
		want    string
	}{
		"it would begin":           {leases, nil, ""},
		"nodefence does not run":   {"", nil, "nodefence has not looked at the Leases yet: no fence begins"},
		"no method switches it on": {leases, []string{"action=reboot", "action=off"}, "its machine would stay off: its configuration has no method that switches it on"},
		"it is the day's last cut": {leases, []string{`"limits":{`, `"limits":{"perNode":{"cutsPerDay":1},`}, "its machine would stay off: its power was cut 1 times"},
		"no device switches it off": {leases, []string{
			`isolation=cordon\npower_management=bmc`, `isolation=cordon bmc`,
			`agent_name=fence_ipmilan\naction=reboot\nip=192.0.2.7\nusername=fence\nsecret=bmc-a`, `agent_name=networkfence\naction=off\nmust_success=yes\nstorage_classes=rbd\ndriver=rbd.csi.example\ncidrs=10.0.0.7`,
			`"driver":"ipmi","address":"192.0.2.7:623","role":"Power"`, `"driver":"networkfence","address":"rbd","role":"Storage"`,
		}, "no device switches its machine"},
	} {
		s := drillable(c.leases)
		s[own+"fencepolicies"] = json.RawMessage(enforced)
		for path, has := range s {
			if text, is := has.(json.RawMessage); is {
				s[path] = json.RawMessage(strings.NewReplacer(c.instead...).Replace(string(text)))
			}
		}
		made := s.created()
		got := s.run(t, "b\n", "drill", "a")
		asked := strings.Contains(got.errors, "Type the node's name")
		if got.code != 1 || *made > 0 || asked != (c.want == "") || c.want != "" && !strings.Contains(got.errors, "error: no drill of node a: "+c.want) {
			t.Errorf("%s: exit code %d, %d requests: %s", name, got.code, *made, got.errors)
		}
	}
}

// TestADrillThatNobodyReads is withdrawn as after Ctrl-C: what it is piped into has ended.
func TestADrillThatNobodyReads(t *testing.T) {
	looks, withdrawn := 0, 0
	cfg := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := api.FenceRequest{TypeMeta: metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceRequest"}, ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: api.FenceRequestSpec{NodeName: "a"}}
		switch {
		case r.Method == http.MethodDelete:
			withdrawn++
		case r.Method == http.MethodGet:
			if looks++; looks > 3 { // it ends by itself, unless it was ended before
				q.Status.Conditions = []metav1.Condition{{Type: api.ConditionProcessing, Status: metav1.ConditionFalse, Reason: "Refused", Message: "m"}}
			}
		}
		kubetest.Answer(w, q)
	}))
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = write.Close() }()
	_ = read.Close()
	var problems strings.Builder
	a := &acting{program: &program{IOStreams: genericiooptions.IOStreams{Out: write, ErrOut: &problems}}}
	err = a.carryOut(t.Context(), c, &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-", Namespace: "ns"}, Spec: api.FenceRequestSpec{NodeName: "a"}}, time.Hour)
	if err == nil || !strings.Contains(err.Error(), "the drill of node a is not over, and is followed no longer") || withdrawn != 1 ||
		!strings.Contains(problems.String(), "the FenceRequest of the drill was withdrawn: its fence ends if no power was cut") {
		t.Errorf("withdrawn %d times after %d looks: %v: %s", withdrawn, looks, err, problems.String())
	}
}

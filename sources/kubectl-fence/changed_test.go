package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// changing has the API server answer with was, and with is from read number first on; 0 is never. It
// counts the reads.
func (s served) changing(path, was, is string, first int) (reads *int) {
	reads = new(int)
	s[path] = func() any {
		if *reads++; first > 0 && *reads >= first {
			return json.RawMessage(is)
		}
		return json.RawMessage(was)
	}
	return reads
}

// created counts the FenceRequests that are created.
func (s served) created() *int {
	n := new(int)
	s[own+"namespaces/"+ownNamespace+"/fencerequests"] = func() any {
		*n++
		return api.FenceRequest{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceRequest"},
			ObjectMeta: metav1.ObjectMeta{Name: "a-1", Namespace: ownNamespace}, Spec: api.FenceRequestSpec{NodeName: "a"},
		}
	}
	return n
}

// enforced are policies by which a fence of any node begins.
const enforced = `{"apiVersion":"nodefence.io/v1alpha1","kind":"FencePolicyList","items":[{"metadata":{"name":"workers"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot",
	"unhealthyConditions":[{"type":"Ready","status":"Unknown"}],"limits":{"maxUnhealthy":"100%"}}}]}`

// TestWhatIsAskedForIsWhatWasShown: whichever read after the first is the first that has another policy,
// or another Node, no fence is asked for that the person did not see (S6).
func TestWhatIsAskedForIsWhatWasShown(t *testing.T) {
	leases := `"leases":{"observedAt":"` + stamp(time.Second) + `","since":"` + stamp(time.Hour) + `","renewal":"10s","total":1}`
	const policies, nodes = own + "fencepolicies", "/api/v1/nodes"
	const policy = enforced
	node := string(drillable(leases)[nodes].(json.RawMessage))
	ask := []string{"ask", "a", "--reason", "its fan screams"}
	for name, c := range map[string]struct {
		path, was, is, typed string
		args                 []string
	}{
		"ask, another policy":                             {policies, policy, strings.Replace(policy, `"spec":{`, `"spec":{"release":{"strategy":"None"},`, 1), "yes\n", ask},
		"ask, another Node":                               {nodes, node, strings.Replace(node, `"uid":"n"`, `"uid":"m"`, 1), "yes\n", ask},
		"drill, another policy":                           {policies, policy, strings.Replace(policy, `"spec":{`, `"spec":{"release":{"strategy":"None"},`, 1), "a\n", []string{"drill", "a"}},
		"drill, another Node":                             {nodes, node, strings.Replace(node, `"uid":"n"`, `"uid":"m"`, 1), "a\n", []string{"drill", "a"}},
		"drill, a policy that only says what it would do": {policies, policy, strings.Replace(policy, "Enforce", "DryRun", 1), "a\n", []string{"drill", "a"}},
	} {
		asked := func(first int) (told, int, int) {
			s := drillable(leases)
			s[policies] = json.RawMessage(policy)
			reads, made := s.changing(c.path, c.was, c.is, first), s.created()
			return s.run(t, c.typed, c.args...), *reads, *made
		}
		got, all, made := asked(0)
		if made != 1 || all < 2 {
			t.Fatalf("%s: %d requests after %d reads, though nothing changed: %s", name, made, all, got.errors)
		}
		for first := 2; first <= all; first++ {
			if got, _, made := asked(first); made > 0 || got.code != 1 || !strings.Contains(got.errors, "nothing was done") && !strings.Contains(got.errors, "no drill of node a") {
				t.Errorf("%s, from read %d of %d on: exit code %d, %d requests: %s", name, first, all, got.code, made, got.errors)
			}
		}
	}
}

// TestResumingUnderAStop: another brake still holds, which is said before the question.
func TestResumingUnderAStop(t *testing.T) {
	s := calm()
	s[own+"fencepolicies/workers"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FencePolicy","metadata":{"name":"workers"},"spec":{"pauseRequests":["ann"]}}`)
	const unseen = "Whether something else holds all fences is not known: you may not read the FenceLedger.\n"
	s[own+"fenceledgers/cluster"] = http.StatusForbidden
	if got := s.run(t, "no\n", "resume", "workers"); !strings.HasPrefix(got.errors, "Fences may begin again under policy workers") || !strings.Contains(got.errors, unseen) {
		t.Errorf("whoever may not read the ledger: exit code %d: %s", got.code, got.errors)
	}
	for ledger, want := range map[string]string{
		"": "Fences may begin again under policy workers", `"spec":{"stop":true}`: "No fence begins yet all the same: fencing is stopped in the whole cluster (kubectl fence start).\n",
	} {
		if ledger != "" {
			s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},` + ledger + `}`)
		} else {
			delete(s, own+"fenceledgers/cluster")
		}
		if got := s.run(t, "no\n", "resume", "workers"); got.code != 1 || len(got.patches) > 0 || !strings.HasPrefix(got.errors, want) {
			t.Errorf("%s: exit code %d: %s\nwant %s", ledger, got.code, got.errors, want)
		}
	}
}

// TestAskingUnderAStop: what holds every fence is said before the question. A stop that comes while a person answers
// holds the fence that they were shown, and refuses nothing.
func TestAskingUnderAStop(t *testing.T) {
	leases := `"leases":{"observedAt":"` + stamp(time.Second) + `","since":"` + stamp(time.Hour) + `","renewal":"10s","total":1}`
	calm := string(drillable(leases)[own+"fenceledgers/cluster"].(json.RawMessage))
	stopped := strings.Replace(calm, `"status":`, `"spec":{"stop":true,"stopReason":"switches"},"status":`, 1)
	for name, c := range map[string]struct {
		was, is string
		first   int
		made    int
		said    bool
	}{
		"calm":    {calm, "", 0, 1, false},
		"stopped": {stopped, "", 0, 1, true},
		"since":   {calm, stopped, 2, 1, false},
	} {
		s := drillable(leases)
		s[own+"fencepolicies"] = json.RawMessage(enforced)
		s.changing(own+"fenceledgers/cluster", c.was, c.is, c.first)
		made := s.created()
		got := s.run(t, "yes\n", "ask", "a", "--reason", "its fan screams")
		before, _, _ := strings.Cut(got.errors, "(yes/no)")
		if said := strings.Contains(before, "FenceLedger cluster is stopped: no fence begins, and no further power-off is sent (switches)") && strings.Contains(before, "A fence that has not begun within 15m0s of this request ends again (RequestExpired), or waits for a condition of its policy.\n"); said != c.said || *made != c.made {
			t.Errorf("%s: said %v, %d requests: %s", name, said, *made, got.errors)
		}
	}
}

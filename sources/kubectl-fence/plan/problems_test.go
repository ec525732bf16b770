package plan

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const problemsPath = "/apis/nodefence.io/v1alpha1/nodeproblempolicies"

// TestProblems: each rule about the node, what comes of it under the node's FencePolicy, and
// what has no effect, with what to mend. A rule is no reason to refuse a node.
func TestProblems(t *testing.T) {
	const west, smart = `"source": "/racks/west"`, `"source": "/smart", "type": "com.example.disk"`
	policies := `{"items": [{"metadata": {"name": "all"}, "spec": {"selector": {}, "rules": [
		{"name": "hung", "kubernetesEvent": {"reason": "TaskHung", "component": "kernel-monitor"}, "threshold": {"count": 3}, "action": "Fence"},
		{"name": "oom", "kubernetesEvent": {"reason": "OOMKilling"}, "threshold": {"within": "1h"}},
		{"name": "mount", "kubernetesEvent": {"about": "Pod", "reason": "FailedMount", "namespaceNames": ["shop", "web"]}, "threshold": {"count": 9, "pods": 3}, "action": "Ask"},
		{"name": "attach", "kubernetesEvent": {"about": "Pod", "reason": "FailedAttachVolume"}, "action": "Evict", "evict": {"what": "Volume", "deleteAfter": "5m"}},
		{"name": "west", "cloudEvent": {` + west + `, "brokerIsClosed": true}, "action": "Fence"},
		{"name": "smart", "cloudEvent": {` + smart + `, "brokerIsClosed": true}, "threshold": {"count": 2}, "action": "Alert"},
		{"name": "open", "cloudEvent": {` + west + `}, "action": "Fence"},
		{"name": "two", "kubernetesEvent": {"reason": "R"}, "cloudEvent": {` + west + `, "brokerIsClosed": true}}
	]}}, {"metadata": {"name": "others"}, "spec": {"selector": {"matchLabels": {"pool": "db"}}, "rules": [{"name": "r", "kubernetesEvent": {"reason": "R"}}]}},
	{"metadata": {"name": "unclear"}, "spec": {"selector": {"matchLabels": {"pool": "not well"}}, "rules": [{"name": "r", "kubernetesEvent": {"reason": "R"}}]}},
	{"metadata": {"name": "newer"}, "spec": {"selector": {}, "rules": [{"name": "r", "kubernetesEvent": {"reason": "R", "hosts": ["b"]}, "action": "Fence"}]}},
	{"metadata": {"name": "newer-of-others"}, "spec": {"selector": {"matchLabels": {"pool": "db"}}, "rules": [{"name": "r", "kubernetesEvent": {"reason": "R", "hosts": ["b"]}}]}}]}`
	const always = `rule oom of NodeProblemPolicy all: OOMKilling of the Node, 1 within 1h0m0s: Alert: it is told, as an Event on the Node
rule smart of NodeProblemPolicy all: event com.example.disk from /smart, 2 within 10m0s: Alert: it is told, as an Event on the Node
rule open of NodeProblemPolicy all: no effect: cloudEvent.brokerIsClosed is not true: whoever can post to the broker could write source /racks/west
rule two of NodeProblemPolicy all: no effect: set one of kubernetesEvent and cloudEvent
NodeProblemPolicy unclear: no effect: spec.selector: values[0][pool]: Invalid value: "not well": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'); it selects no node until that is corrected
NodeProblemPolicy newer: no effect: it has spec.rules[0].kubernetesEvent.hosts, which this nodefence does not know: upgrade nodefence, or take the field out
`
	for name, c := range map[string]struct {
		cluster cluster
		code    int
		want    string
	}{
		"under a policy": {running(own(bmc)), 0, `rule hung of NodeProblemPolicy all: TaskHung of the Node by kernel-monitor, 3 within 10m0s: Ask: a fence opens under policy workers, and waits for a person's approval; its action Fence acts as Ask, as a Kubernetes Event cuts nothing by itself: a person must approve the fence; set action Ask
rule mount of NodeProblemPolicy all: FailedMount of 3 Pods in shop, web, 9 within 10m0s: Ask: a fence opens under policy workers, and waits for a person's approval
rule attach of NodeProblemPolicy all: FailedAttachVolume of a Pod, 1 within 10m0s: Evict: at most 3 Pods are evicted, those with a claim of theirs too, and deleted after 5m0s
rule west of NodeProblemPolicy all: event io.nodefence.request.fence.v1 from /racks/west: Fence: a fence is asked for, under policy workers
`},
		"under none": {running(own(bmc)).with("/apis/nodefence.io/v1alpha1/fencepolicies", `{"items": []}`), refused, `rule hung of NodeProblemPolicy all: TaskHung of the Node by kernel-monitor, 3 within 10m0s: Ask: it is told, as an Event on the Node, and no more: no FencePolicy selects this node
rule mount of NodeProblemPolicy all: FailedMount of 3 Pods in shop, web, 9 within 10m0s: Ask: it is told, as an Event on the Node, and no more: no FencePolicy selects this node
rule attach of NodeProblemPolicy all: FailedAttachVolume of a Pod, 1 within 10m0s: Evict: it is told, as an Event on the Node, and no more: no FencePolicy selects this node
rule west of NodeProblemPolicy all: event io.nodefence.request.fence.v1 from /racks/west: Fence: it is told, as an Event on the Node, and no more: no FencePolicy selects this node
`},
	} {
		code, out, problems := c.cluster.with(problemsPath, policies).plan(t, "a")
		if code != c.code || problems != "" {
			t.Errorf("%s: exit code %d: %s", name, code, problems)
		}
		got := map[string]bool{}
		for _, l := range strings.Split(out, "\n") {
			if key, words, _ := strings.Cut(l, " "); key == "problem" {
				got[strings.TrimSpace(words)] = true
			}
		}
		want := map[string]bool{}
		for _, l := range strings.Split(strings.TrimSpace(c.want+always), "\n") {
			want[l] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	code, out, _ := running(own(bmc)).with(problemsPath, policies).plan(t, "-o", "json", "a")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || len(r.Problems) != 10 || r.Problems[0].Policy != "all" || r.Problems[0].Rule != "hung" {
		t.Errorf("exit code %d: %v: %+v", code, err, r.Problems)
	}
}

// TestWhoMayNotReadProblems is told so, and gets the rest.
func TestWhoMayNotReadProblems(t *testing.T) {
	c := running(own(bmc))
	c[problemsPath] = http.StatusForbidden
	code, out, problems := c.plan(t, "a")
	if code != 0 || problems != "" || !strings.Contains(out, "the NodeProblemPolicies were not looked at: ") || !strings.Contains(out, "call 1 ") {
		t.Errorf("exit code %d: %s%s", code, problems, out)
	}
}

package mhc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/policy"
)

// TestLimit: with exactly as many unhealthy Machines as it says one is remediated, and with one
// more none is. A share is rounded down, and a share that must be healthy up.
func TestLimit(t *testing.T) {
	n := func(x int, percent bool) *Limit { return &Limit{Max: x, Percent: percent} }
	for name, c := range map[string]struct {
		limit              Limit
		total              int
		allowed, forbidden []int
		further            int // with the first one of allowed
	}{
		"a number":                        {Limit{Max: 2}, 10, []int{0, 1, 2}, []int{3, 10}, 2},
		"none":                            {Limit{}, 10, []int{0}, []int{1}, 0},
		"all":                             {Limit{Max: 100, Percent: true}, 3, []int{0, 3}, nil, 3},
		"a share of none":                 {Limit{Max: 40, Percent: true}, 0, []int{0}, nil, 0},
		"40 % of 25":                      {Limit{Max: 40, Percent: true}, 25, []int{0, 10}, []int{11}, 10},
		"40 % of 6 is rounded down":       {Limit{Max: 40, Percent: true}, 6, []int{0, 2}, []int{3}, 2},
		"40 % of 2 is none":               {Limit{Max: 40, Percent: true}, 2, []int{0}, []int{1}, 0},
		"a range":                         {Limit{Range: &[2]int{3, 5}}, 10, []int{3, 4, 5}, []int{0, 2, 6}, 2},
		"51 % healthy of 3 is rounded up": {Limit{Max: 100, Percent: true, MinHealthy: n(51, true)}, 3, []int{0, 1}, []int{2}, 1},
		"2 healthy of 3":                  {Limit{Max: 100, Percent: true, MinHealthy: n(2, false)}, 3, []int{0, 1}, []int{2}, 1},
		"9 healthy of 3":                  {Limit{Max: 100, Percent: true, MinHealthy: n(9, false)}, 3, []int{0}, []int{1}, 0},
		"the stricter one of both":        {Limit{Max: 1, MinHealthy: n(1, false)}, 3, []int{0, 1}, []int{2}, 1},
	} {
		count := func(unhealthy int) Count {
			is := Count{Expected: c.total, Healthy: c.total - unhealthy}
			is.From, is.To = c.limit.Of(c.total)
			return is
		}
		for _, u := range c.allowed {
			if !count(u).Allowed() {
				t.Errorf("%s: not with %d", name, u)
			}
		}
		for _, u := range c.forbidden {
			if count(u).Allowed() || count(u).Further() != 0 {
				t.Errorf("%s: with %d, and %d more", name, u, count(u).Further())
			}
		}
		if got := count(c.allowed[0]).Further(); got != c.further {
			t.Errorf("%s: %d more, want %d", name, got, c.further)
		}
	}
}

// machine is a Machine in JSON, with the node of the same name.
func machine(t *testing.T, version, name, rest string) policy.Machine {
	t.Helper()
	var m policy.Machine
	text := `{"metadata":{"namespace":"ns","name":"` + name + `","labels":{"pool":"a","cluster.x-k8s.io/cluster-name":"c"}},"spec":{"providerID":"p://` + name + `"},"status":{"nodeRef":{"name":"` + name + `"}}}`
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(rest), &m); err != nil {
		t.Fatal(rest, err)
	}
	m.APIVersion = version
	return m
}

func node(name string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{}
	n.Name, n.UID, n.Spec.ProviderID = name, types.UID("uid-"+name), "p://"+name
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func with(typ corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append([]corev1.NodeCondition{{Type: typ, Status: status}}, n.Status.Conditions...)
	}
}

// TestTargets: which Machine counts, which is healthy, and which Node is labelled.
func TestTargets(t *testing.T) {
	for name, c := range map[string]struct {
		machine         string
		node            func(*corev1.Node)
		openshift, capi string // counted, healthy, marked
	}{
		"well":                   {`{}`, nil, "chm", "chm"},
		"in another namespace":   {`{"metadata":{"namespace":"other"}}`, nil, "", ""},
		"without the label":      {`{"metadata":{"labels":{"pool":"b"}}}`, nil, "", ""},
		"of another cluster":     {`{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"d"}}}`, nil, "chm", ""},
		"Failed":                 {`{"status":{"phase":"Failed"}}`, nil, "cm", "cm"},
		"without a node":         {`{"status":{"nodeRef":null}}`, nil, "c", "c"},
		"its node is gone":       {`{"status":{"nodeRef":{"name":"gone"}}}`, nil, "c", "c"},
		"another node's UID":     {`{"status":{"nodeRef":{"uid":"x"}}}`, nil, "c", "c"},
		"the node's UID":         {`{"status":{"nodeRef":{"uid":"uid-m"}}}`, nil, "chm", "chm"},
		"another provider's ID":  {`{"spec":{"providerID":"p://x"}}`, nil, "c", "c"},
		"no provider's ID":       {`{"spec":{"providerID":""}}`, nil, "chm", "c"},
		"being deleted":          {`{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}}`, nil, "cm", "cm"},
		"with one of conditions": {`{}`, with("Disk", "True"), "cm", "cm"},
		"with another status":    {`{}`, with("Disk", "False"), "chm", "chm"},
		"to be remediated":       {`{"metadata":{"annotations":{"cluster.x-k8s.io/remediate-machine":""}}}`, nil, "chm", "cm"},
		"to be skipped":          {`{"metadata":{"annotations":{"cluster.x-k8s.io/skip-remediation":""}}}`, nil, "ch", ""},
		"paused":                 {`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}}}`, nil, "ch", ""},
		"its host is switched":   {`{"metadata":{"annotations":{"host.metal3.io/external-remediation":""}}}`, nil, "cm", "cm"},
		"named by its Node alone": {`{"spec":{"providerID":""}}`, func(n *corev1.Node) {
			n.Annotations = map[string]string{"cluster.x-k8s.io/cluster-namespace": "ns", "cluster.x-k8s.io/machine": "m"}
		}, "chm", "chm"},
	} {
		for version, want := range map[string]string{openshift: c.openshift, older: c.capi, newer: c.capi} {
			spec := `{"selector":{"matchLabels":{"pool":"a"}},"unhealthyConditions":[{"type":"Disk","status":"True","timeout":"5m"}]}`
			switch version {
			case older:
				spec = strings.Replace(spec, "{", `{"clusterName":"c",`, 1)
			case newer:
				spec = `{"clusterName":"c","selector":{"matchLabels":{"pool":"a"}},"checks":{"unhealthyNodeConditions":[{"type":"Disk","status":"True","timeoutSeconds":300}]}}`
			}
			check, err := Read(version, raw(spec))
			if err != nil {
				t.Fatal(err)
			}
			n := node("m")
			if c.node != nil {
				c.node(&n)
			}
			machines := []policy.Machine{machine(t, version, "m", c.machine), machine(t, "other.io/v1", "z", `{}`)}
			all := check.Targets(machines, []corev1.Node{node("z"), n})
			count := check.Count(all)
			got := strings.Repeat("c", count.Expected) + strings.Repeat("h", count.Healthy) + strings.Repeat("m", len(Marked(all)))
			if got != want {
				t.Errorf("%s, %s: %q, want %q", name, version, got, want)
			}
			if len(count.Names) != count.Expected {
				t.Errorf("%s: names %v", name, count.Names)
			}
		}
	}
}

// TestElsewhere: the nodes are in another cluster if some are named, and none is here.
func TestElsewhere(t *testing.T) {
	check, err := Read(newer, raw(`{"clusterName":"c","selector":{},"checks":{"unhealthyNodeConditions":[{"type":"R","status":"True","timeoutSeconds":5}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	here, there, none := machine(t, newer, "a", `{}`), machine(t, newer, "b", `{"spec":{"providerID":"q://b"}}`), machine(t, newer, "c", `{"status":{"nodeRef":null}}`)
	for name, c := range map[string]struct {
		machines []policy.Machine
		want     bool
	}{
		"here": {[]policy.Machine{here}, false}, "one is here": {[]policy.Machine{there, here}, false}, "there": {[]policy.Machine{none, there}, true},
		"nobody knows": {[]policy.Machine{none}, false}, "none": {nil, false},
	} {
		if got := Elsewhere(check.Targets(c.machines, []corev1.Node{node("a"), node("b")})); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestStatus: what is written, in the form of each version; and nothing if it is there.
func TestStatus(t *testing.T) {
	five := Count{Expected: 5, Healthy: 4, To: 2, Names: []string{"a", "b"}}
	many := Count{Expected: 5, Healthy: 2, To: 2, Names: []string{"a", "b"}}
	const words = "no Machine is remediated: 3 of 5 Machines are unhealthy or have no node yet, and the limit is 40%"
	time0 := "2026-01-02T03:04:05Z"
	for name, c := range map[string]struct {
		version string
		count   Count
		want    map[string]any
	}{
		"openshift, allowed": {openshift, five, map[string]any{"expectedMachines": 5., "currentHealthy": 4., "remediationsAllowed": 1.,
			"conditions": []any{map[string]any{"type": "RemediationAllowed", "status": "True", "lastTransitionTime": time0}}}},
		"openshift, too many": {openshift, many, map[string]any{"expectedMachines": 5., "currentHealthy": 2., "remediationsAllowed": 0.,
			"conditions": []any{map[string]any{"type": "RemediationAllowed", "status": "False", "severity": "Warning", "reason": "TooManyUnhealthy", "message": words, "lastTransitionTime": time0}}}},
		"v1beta1, too many": {older, many, map[string]any{"expectedMachines": 5., "currentHealthy": 2., "remediationsAllowed": 0., "targets": []any{"a", "b"},
			"conditions": []any{map[string]any{"type": "RemediationAllowed", "status": "False", "severity": "Warning", "reason": "TooManyUnhealthy", "message": words, "lastTransitionTime": time0}}}},
		"v1beta2, allowed": {newer, five, map[string]any{"expectedMachines": 5., "currentHealthy": 4., "remediationsAllowed": 1., "targets": []any{"a", "b"},
			"conditions": []any{map[string]any{"type": "RemediationAllowed", "status": "True", "reason": "RemediationAllowed", "message": "", "observedGeneration": 3., "lastTransitionTime": time0}}}},
		"v1beta2, too many": {newer, many, map[string]any{"expectedMachines": 5., "currentHealthy": 2., "remediationsAllowed": 0., "targets": []any{"a", "b"},
			"conditions": []any{map[string]any{"type": "RemediationAllowed", "status": "False", "reason": "TooManyUnhealthy", "message": words, "observedGeneration": 3., "lastTransitionTime": time0}}}},
	} {
		check := &Check{Limit: Limit{Max: 40, Percent: true}}
		check.APIVersion, check.Generation = c.version, 3
		got := check.NewStatus(c.count, now)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		check.Status = got
		if again := check.NewStatus(c.count, now.Add(time.Hour)); again != nil {
			t.Errorf("%s: written again: %v", name, again)
		}
		// Another condition stays as it is, and so does the time if only the message changes.
		other := map[string]any{"type": "Paused", "status": "False", "x": 1.}
		check.Status["conditions"] = append([]any{other}, got["conditions"].([]any)...)
		c.count.Expected, c.count.Healthy = c.count.Expected+1, c.count.Healthy+1
		after := check.NewStatus(c.count, now.Add(time.Hour))["conditions"].([]any)
		if len(after) != 2 || !cmp.Equal(after[0], any(other)) || field(after[1], "lastTransitionTime") != time0 {
			t.Errorf("%s: after that: %v", name, after)
		}
		turned := five
		if c.count.Allowed() {
			turned = many
		}
		if after = check.NewStatus(turned, now.Add(time.Hour))["conditions"].([]any); field(after[1], "lastTransitionTime") == time0 {
			t.Errorf("%s: it turned at its old time: %v", name, after)
		}
	}
}

// TestRefusedStatus: it names the field.
func TestRefusedStatus(t *testing.T) {
	check := &Check{Status: map[string]any{"currentHealthy": 4.}}
	check.APIVersion = openshift
	why := &Refused{"spec.maxUnhealthy", "no"}
	got := check.RefusedStatus(why, now)
	want := map[string]any{"remediationsAllowed": 0., "conditions": []any{map[string]any{
		"type": "RemediationAllowed", "status": "False", "severity": "Warning", "reason": "CannotBeMapped", "message": "spec.maxUnhealthy: no", "lastTransitionTime": "2026-01-02T03:04:05Z"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	check.Status = got
	if again := check.RefusedStatus(why, now.Add(time.Hour)); again != nil {
		t.Errorf("written again: %v", again)
	}
}

// TestTargetsAreInOrder, so that a status does not change with the order of a list.
func TestTargetsAreInOrder(t *testing.T) {
	check, err := Read(openshift, raw(`{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var all []policy.Machine
	for i := range 9 {
		all = append(all, machine(t, openshift, fmt.Sprint("m", 8-i), `{}`))
	}
	if names := check.Count(check.Targets(all, nil)).Names; !slices.IsSorted(names) || len(names) != 9 {
		t.Error(names)
	}
}

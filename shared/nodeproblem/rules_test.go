package nodeproblem

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func policyOf(name string, selector map[string]string, rules ...api.ProblemRule) api.NodeProblemPolicy {
	return api.NodeProblemPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.NodeProblemPolicySpec{Selector: &api.LabelSelector{MatchLabels: selector}, Rules: rules}}
}

func ofKubernetes(name string, about api.ProblemAbout, reason, component string) api.ProblemRule {
	return api.ProblemRule{Name: name, KubernetesEvent: &api.KubernetesEventRule{About: &about, Reason: reason, Component: component}}
}

// TestWhichRulesAReportIsOneOf: those of each policy that selects the node; a report of a
// Pod is none of the Node.
func TestWhichRulesAReportIsOneOf(t *testing.T) {
	policies := []api.NodeProblemPolicy{
		policyOf("all", nil, ofKubernetes("old", "", "R", "old"), ofKubernetes("pod", api.AboutPod, "R", "new")),
		policyOf("too", nil, ofKubernetes("any", api.AboutNode, "R", "")),
		policyOf("others", map[string]string{"pool": "db"}, ofKubernetes("db", api.AboutNode, "R", "")),
		policyOf("unreadable", map[string]string{"pool": "not well"}, ofKubernetes("none", api.AboutNode, "R", "")),
		{ObjectMeta: metav1.ObjectMeta{Name: "no selector"}, Spec: api.NodeProblemPolicySpec{Rules: []api.ProblemRule{ofKubernetes("any", api.AboutNode, "R", "")}}},
		policyOf("events", nil, api.ProblemRule{Name: "racks", CloudEvent: &api.CloudEventRule{Source: "R", BrokerIsClosed: true}}),
	}
	for name, c := range map[string]struct {
		labels            map[string]string
		about             api.ProblemAbout
		reason, component string
		want              []string
	}{
		"two policies, both":       {nil, api.AboutNode, "R", "old", []string{"all/old", "too/any"}},
		"of any component":         {nil, api.AboutNode, "R", "new", []string{"too/any"}},
		"of a Pod":                 {nil, api.AboutPod, "R", "new", []string{"all/pod"}},
		"another reason":           {nil, api.AboutNode, "S", "old", nil},
		"about nothing":            {nil, "", "", "", nil},
		"where a selector chooses": {map[string]string{"pool": "db"}, api.AboutNode, "R", "new", []string{"too/any", "others/db"}},
	} {
		var got []string
		for _, r := range Named(For(policies, c.labels), c.about, c.reason, c.component) {
			got = append(got, r.Policy+"/"+r.Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestWhichCloudEventsAreBelieved: of this source and type, for this action, and only
// where somebody says that the broker is closed (S18, S20).
func TestWhichCloudEventsAreBelieved(t *testing.T) {
	const west = "/racks/west"
	own, alert, fence := "com.example.rack", api.ProblemAlert, api.ProblemFence
	for name, c := range map[string]struct {
		change      func(*api.ProblemRule)
		source, typ string
		want        bool
	}{
		"as it is":            {nil, west, events.RequestFence, true},
		"another source":      {nil, "/racks/east", events.RequestFence, false},
		"another type":        {nil, west, "com.example.rack", false},
		"a type of one's own": {func(r *api.ProblemRule) { r.CloudEvent.Type = &own }, west, "com.example.rack", true},
		"an open broker":      {func(r *api.ProblemRule) { r.CloudEvent.BrokerIsClosed = false }, west, events.RequestFence, false},
		"what is only told":   {func(r *api.ProblemRule) { r.Action = &alert }, west, events.RequestFence, false},
		"no action at all":    {func(r *api.ProblemRule) { r.Action = nil }, west, events.RequestFence, false},
		"two kinds at once":   {func(r *api.ProblemRule) { r.KubernetesEvent = &api.KubernetesEventRule{Reason: "R"} }, west, events.RequestFence, false},
	} {
		rule := api.ProblemRule{Name: "racks", CloudEvent: &api.CloudEventRule{Source: west, BrokerIsClosed: true}, Action: &fence}
		if c.change != nil {
			c.change(&rule)
		}
		rules := For([]api.NodeProblemPolicy{policyOf("p", nil, rule)}, nil)
		if got := len(Believing(rules, api.ProblemFence, c.source, c.typ)) == 1; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestARuleThatSaysLittle: a Go client that leaves a field out gets what YAML gets that
// leaves it out, and a zero asks for nothing sooner.
func TestARuleThatSaysLittle(t *testing.T) {
	zero, none := int32(0), api.Duration("")
	least := Rule{
		Policy: "p", Name: "r", About: api.AboutNode, Reason: "R", Count: 1, Pods: 1, Within: 10 * time.Minute, Action: api.ProblemAlert,
		Evict: Eviction{What: api.EvictPod, MaxPods: 3},
	}
	for name, spec := range map[string]api.ProblemRule{
		"nothing but its reason": {},
		"zeros": {
			Threshold: api.ProblemThreshold{Count: &zero, Pods: &zero},
			Evict:     &api.ProblemEviction{MaxPods: &zero, DeleteAfter: &none},
		},
	} {
		spec.Name, spec.KubernetesEvent = "r", &api.KubernetesEventRule{Reason: "R"}
		p := policyOf("p", nil, spec)
		if d := cmp.Diff([]Rule{least}, RulesOf(&p)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestARuleThatCouldNeverCount is none, and says why: of these reporters no Event about a Node counts.
func TestARuleThatCouldNeverCount(t *testing.T) {
	for name, c := range map[string]struct {
		about     api.ProblemAbout
		component string
		wrong     bool
	}{
		"the kubelet's of a Node":    {api.AboutNode, "kubelet", true},
		"of a Node unless set":       {"", "kubelet", true},
		"nodefence's own":            {api.AboutNode, "nodefence-power", true},
		"the kubelet's of a Pod":     {api.AboutPod, "kubelet", false},
		"a monitor's":                {api.AboutNode, "kernel-monitor", false},
		"whoever's it is, of a Node": {api.AboutNode, "", false},
	} {
		p := policyOf("p", nil, ofKubernetes("r", c.about, "SystemOOM", c.component))
		says := strings.Contains(Written(&p)[0].Wrong, "kubernetesEvent.component is "+c.component+", whose Events about Nodes count for nothing")
		if got := len(RulesOf(&p)) == 0; got != c.wrong || says != c.wrong {
			t.Errorf("%s: no rule: %v, %q", name, got, Written(&p)[0].Wrong)
		}
	}
}

// TestARuleOnKubernetesEventsNeverFences: a rule that an older API server stored with action Fence asks a person, and
// says so (S18, S20). A rule on CloudEvents fences as before.
func TestARuleOnKubernetesEventsNeverFences(t *testing.T) {
	fence, ask := api.ProblemFence, api.ProblemAsk
	closed := &api.CloudEventRule{Source: "/racks/west", BrokerIsClosed: true}
	type is struct {
		Action      api.ProblemAction
		Note, Wrong bool
	}
	for name, c := range map[string]struct {
		rule api.ProblemRule
		want is
	}{
		"Ask on Kubernetes Events":   {api.ProblemRule{KubernetesEvent: &api.KubernetesEventRule{Reason: "R"}, Action: &ask}, is{api.ProblemAsk, false, false}},
		"Fence on Kubernetes Events": {api.ProblemRule{KubernetesEvent: &api.KubernetesEventRule{Reason: "R"}, Action: &fence}, is{api.ProblemAsk, true, false}},
		"Fence on CloudEvents":       {api.ProblemRule{CloudEvent: closed, Action: &fence}, is{api.ProblemFence, false, false}},
		"Ask on CloudEvents":         {api.ProblemRule{CloudEvent: closed, Action: &ask}, is{api.ProblemAsk, false, true}},
	} {
		p := policyOf("p", nil, c.rule)
		r := Written(&p)[0]
		if d := cmp.Diff(c.want, is{r.Action, r.Note != "", r.Wrong != ""}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

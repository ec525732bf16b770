package v1alpha1

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const whole = `"selector":{},"mode":"Enforce","action":"Reboot"`

// TestAStatusThatIsDecidedBy: what stands there of missing nodes and failed Machines may have
// a brake of a newer program too. The rest of a status holds nothing.
func TestAStatusThatIsDecidedBy(t *testing.T) {
	const since = `"since":"2026-01-01T00:00:00.000000Z"`
	for status, want := range map[string]string{
		`{"novel":1,"held":[{"nodeName":"a","reason":"Paused","novel":1}]}`:                                        "",
		`{"missing":[{"nodeName":"a",` + since + `}],"failedMachines":null}`:                                       "",
		`{"missing":[{"nodeName":"a",` + since + `},{"nodeName":"b","heldBy":"me",` + since + `}]}`:                "status.missing[1].heldBy",
		`{"failedMachines":[{"namespace":"m","name":"x","state":"Failed","heldBy":"me","held":"",` + since + `}]}`: "status.failedMachines[0].heldBy",
	} {
		var p FencePolicy
		if err := json.Unmarshal([]byte(`{"spec":{`+whole+`},"status":`+status+`}`), &p); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(p.NotUnderstood.Unknown, " ")
		if got != want || p.NotUnderstood.Everywhere != (want != "") || len(p.NotUnderstood.Wrong) > 0 {
			t.Errorf("%s: %+v, want %q", status, p.NotUnderstood, want)
		}
	}
}

// TestWhatIsNotUnderstoodIsNamed: each is a brake that got lost, or one of tomorrow.
func TestWhatIsNotUnderstoodIsNamed(t *testing.T) {
	unknown := func(what, it string) string {
		return "it has " + what + ", which this nodefence does not know: upgrade nodefence, or take " + it + " out"
	}
	for name, c := range map[string]struct {
		spec, want string
		everywhere bool
	}{
		"all is known":                  {whole + `,"limits":{"maxUnhealthy":"40%","stormCoolDown":"5m","maxConcurrent":null},"kdump":{},"precedence":7,"unhealthyConditions":[{"type":"Ready","status":"Unknown","duration":"0s"}]`, "", false},
		"a field of tomorrow":           {whole + `,"drainFirst":true`, unknown("spec.drainFirst", "the field"), false},
		"two":                           {whole + `,"drainFirst":true,"askTwice":{"by":1}`, unknown("spec.askTwice and spec.drainFirst", "the fields"), false},
		"many":                          {whole + `,"a":1,"b":1,"c":1,"d":1,"e":1`, unknown("spec.a, spec.b, spec.c and 2 more", "the fields"), false},
		"one deep down":                 {whole + `,"limits":{"maxUnhealthy":1,"perDomain":{"topologyKey":"z","minHealthy":1}}`, unknown("spec.limits.perDomain.minHealthy", "the field"), false},
		"one in a list":                 {whole + `,"pauseWindows":[{"start":"22:00","duration":"8h","yearly":true}]`, unknown("spec.pauseWindows[0].yearly", "the field"), false},
		"another spelling":              {whole + `,"PauseRequests":["me"]`, unknown("spec.PauseRequests", "the field"), false},
		"one in the selector":           {`"selector":{"matchFields":[]},"mode":"Enforce","action":"Reboot"`, unknown("spec.selector.matchFields", "the field"), true},
		"one of etcd's members":         {whole + `,"controlPlane":{"etcdSelector":{}}`, unknown("spec.controlPlane.etcdSelector", "the field"), true},
		"a mode of tomorrow":            {`"selector":{},"mode":"Gently","action":"Reboot"`, unknown(`spec.mode "Gently"`, "the field"), false},
		"a rule of tomorrow for others": {whole + `,"controlPlane":{"fence":"Always"}`, unknown(`spec.controlPlane.fence "Always"`, "the field"), true},
		"a strategy of tomorrow":        {whole + `,"release":{"strategy":"Later"}`, unknown(`spec.release.strategy "Later"`, "the field"), false},
		"a check without a type":        {whole + `,"activityChecks":{"checks":[{}]}`, unknown(`spec.activityChecks.checks[0].type ""`, "the field"), false},
		"no mode":                       {`"selector":{},"action":"Reboot"`, "it has no spec.mode: correct that", false},
		"nothing":                       {``, "it has no spec.selector, no spec.mode and no spec.action: correct that", true},
		"a duration that is none":       {whole + `,"limits":{"stormCoolDown":"soon"}`, `it has spec.limits.stormCoolDown "soon", which is no duration: correct that`, false},
		"a duration with days":          {whole + `,"unhealthyConditions":[{"type":"Ready","status":"False","duration":"1d"}]`, `it has spec.unhealthyConditions[0].duration "1d", which is no duration: correct that`, false},
		"a rate without a time":         {whole + `,"limits":{"maxRate":{"count":1}}`, `it has spec.limits.maxRate.period "", which is no duration: correct that`, false},
		"a number for a text":           {whole + `,"precedence":"high"`, "it has spec.precedence, which can't be read (cannot unmarshal string into Go value of type int32): correct that", false},
		"a selector that is a text":     {`"selector":"all","mode":"Enforce","action":"Reboot"`, "it has spec.selector, which can't be read (cannot unmarshal string into Go value of type v1alpha1.LabelSelector): correct that", true},
		"an operator of tomorrow":       {`"selector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]},"mode":"Enforce","action":"Reboot"`, unknown(`spec.selector.matchExpressions[0].operator "Gt"`, "the field"), true},
		"both":                          {whole + `,"precedence":"high","drainFirst":1`, unknown("spec.drainFirst", "the field") + "; it has spec.precedence, which can't be read (cannot unmarshal string into Go value of type int32): correct that", false},
	} {
		t.Run(name, func(t *testing.T) {
			var p FencePolicy
			if err := json.Unmarshal([]byte(`{"metadata":{"name":"p","novel":1,"managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]},"spec":{`+c.spec+`},"status":{"novel":1}}`), &p); err != nil {
				t.Fatal(err)
			}
			if got := p.NotUnderstood.Words("it"); got != c.want || p.NotUnderstood.Everywhere != c.everywhere {
				t.Errorf("everywhere: %t, %s\nwant %s", p.NotUnderstood.Everywhere, got, c.want)
			}
			if p.Name != "p" || c.everywhere && p.Spec.Selector != nil && p.Spec.Selector.MatchLabels != nil {
				t.Errorf("it is read as %+v", p)
			}
		})
	}
	for spec, want := range map[string]string{
		`{"selector":{},"minAvailable":2}`:                     "",
		`{"selector":{},"maxUnavailable":"1%","perZone":true}`: unknown("spec.perZone", "the field"),
		`{"minAvailable":2}`:                                   "it has no spec.selector: correct that",
		`{"selector":{},"minAvailable":true}`:                  "it has spec.minAvailable, which can't be read (",
		`7`:                                                    "it has spec, which can't be read (",
	} {
		var b FenceBudget
		if err := json.Unmarshal([]byte(`{"spec":`+spec+`}`), &b); err != nil {
			t.Fatal(err)
		}
		if got := b.NotUnderstood.Words("it"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", spec, got)
		}
	}
	const rule = `{"name":"r","kubernetesEvent":{"reason":"R"}}`
	for spec, want := range map[string]string{
		`{"selector":{},"rules":[` + rule + `,{"name":"s","cloudEvent":{"source":"/s","brokerIsClosed":true},"threshold":{"count":2,"within":"1h"},"action":"Alert"}]}`: "",
		`{"selector":{},"rules":[` + rule + `],"quorum":2}`:                                                       unknown("spec.quorum", "the field"),
		`{"selector":{},"rules":[` + rule + `,{"name":"s","kubernetesEvent":{"reason":"R","hosts":["b"]}}]}`:      unknown("spec.rules[1].kubernetesEvent.hosts", "the field"),
		`{"selector":{},"rules":[{"name":"r","kubernetesEvent":{"reason":"R","about":"Zone"},"action":"Evict"}]}`: unknown(`spec.rules[0].kubernetesEvent.about "Zone"`, "the field"),
		`{"selector":{},"rules":[{"name":"r","kubernetesEvent":{"reason":"R"},"threshold":{"within":"soon"}}]}`:   `it has spec.rules[0].threshold.within "soon", which is no duration: correct that`,
		`{"selector":7,"rules":[` + rule + `]}`:                                                                   "it has spec.selector, which can't be read (",
		`{"selector":{}}`:                                                                                         "it has no spec.rules: correct that",
	} {
		var p NodeProblemPolicy
		if err := json.Unmarshal([]byte(`{"metadata":{"name":"p"},"spec":`+spec+`}`), &p); err != nil || p.Name != "p" {
			t.Fatal(err)
		}
		got := p.NotUnderstood.Words("it")
		if !strings.HasPrefix(got, want) || want == "" && got != "" || p.NotUnderstood.Everywhere != strings.Contains(want, "spec.selector") {
			t.Errorf("%s: everywhere: %t, %s", spec, p.NotUnderstood.Everywhere, got)
		}
	}
	for ledger, want := range map[string]string{
		`{"spec":{"stop":false},"status":{"leases":{"total":3}}}`: "",
		`{"spec":{"stopNodes":["a"]}}`:                            unknown("spec.stopNodes", "the field"),
		`{"status":{"reservations":[{"nodeName":"a","kind":1}]}}`: unknown("status.reservations[0].kind", "the field"),
	} {
		var l FenceLedger
		if err := json.Unmarshal([]byte(ledger), &l); err != nil {
			t.Fatal(err)
		}
		if got := l.NotUnderstood.Words("it"); got != want {
			t.Errorf("%s: %s", ledger, got)
		}
	}
}

// TestTheValuesAreTheSchemas: one that is in the schema alone would hold for ever.
func TestTheValuesAreTheSchemas(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for kinds, spec := range map[string]reflect.Type{"fencepolicies": reflect.TypeFor[FencePolicySpec](), "nodeproblempolicies": reflect.TypeFor[NodeProblemPolicySpec]()} {
		text, err := os.ReadFile("../../../infra/crd/nodefence.io_" + kinds + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema shape }
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		compare(t, "spec", spec, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], seen)
	}
	if d := len(known) - len(seen); d != 0 {
		t.Errorf("%d types have values and are in no policy", d)
	}
}

type shape struct {
	Properties map[string]shape
	Items      *shape
	Enum       []string
}

func compare(t *testing.T, at string, of reflect.Type, s shape, seen map[reflect.Type]bool) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of.Kind() == reflect.Slice && s.Items != nil:
		compare(t, at+"[]", of.Elem(), *s.Items, seen)
	case of.Kind() == reflect.String && at == "spec.unhealthyConditions[].status": // no other is ever met
	case of.Kind() == reflect.String && len(s.Enum) > 0:
		seen[of] = true
		if d := cmp.Diff(slices.Sorted(slices.Values(s.Enum)), slices.Sorted(slices.Values(known[of]))); d != "" {
			t.Errorf("%s: %s", at, d)
		}
	case of.Kind() == reflect.Struct && len(s.Properties) > 0:
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			compare(t, at+"."+name, of.Field(i).Type, s.Properties[name], seen)
		}
	}
}

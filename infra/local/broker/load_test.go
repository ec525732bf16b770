package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestEveryEventTypeGoesToItsOneFunction(t *testing.T) {
	triggers, err := Load(clusterFile)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, full := range append(events.Types(), "io.nodefence.request.fence.v1") {
		typ := strings.TrimSuffix(strings.TrimPrefix(full, "io.nodefence."), ".v1")
		for i := range triggers {
			if triggers[i].Matches(makeEvent(full, "1")) {
				got[typ] += triggers[i].Function
			}
		}
	}
	want := map[string]string{
		"node.unhealthy": "gate", "node.healthy": "gate", "node.problem": "gate", "internal.suspect": "gate", "pods.failing": "cleanup", "node.dumping": "gate", "internal.marked": "recover", "internal.check": "power", "internal.checkisolation": "isolate", "request.fence": "gate", "fencerequest.changed": "request", "report.fence": "recover",
	}
	for _, p := range api.Phases {
		if p.Owner() != "" {
			want["fence."+strings.ToLower(string(p))] = p.Owner()
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range triggers {
		tr := &triggers[i]
		have := []any{tr.Retries, tr.Backoff(0), tr.Backoff(1), tr.Backoff(2)}
		if d := cmp.Diff([]any{3, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}, have); d != "" {
			t.Errorf("%s: %s", tr.Name, d)
		}
	}
}

func TestClusterTriggersLeaveNothingToAWebhook(t *testing.T) {
	for _, d := range split(clusterFile, []byte(clusterTriggers(t))) {
		if d.read(); d.object == nil {
			continue
		}
		defaulted := d.object.DeepCopy()
		defaulted.SetDefaults(t.Context())
		defaulted.Spec.Delivery.DeadLetterSink.Ref.Namespace = defaulted.Namespace
		if diff := cmp.Diff(defaulted, d.object); diff != "" {
			t.Errorf("%s: %s", d.object.Name, diff)
		}
		if d.object.Namespace != "nodefence-system" || d.object.Spec.Broker != "nodefence" ||
			d.object.Spec.Delivery.DeadLetterSink.Ref.Name != "nodefence-deadletter" {
			t.Errorf("%s: wrong namespace, broker or dead-letter sink", d.object.Name)
		}
	}
}

func TestFilters(t *testing.T) {
	e := makeEvent("io.nodefence.fence.fencing.v1", "1")
	for filters, want := range map[string]bool{
		`[]`: true,
		`[{exact: {type: io.nodefence.fence.fencing.v1}}]`:                         true,
		`[{exact: {type: io.nodefence.fence.fencing.v1, subject: node-8}}]`:        false,
		`[{exact: {nosuch: x}}]`:                                                   false,
		`[{prefix: {type: io.nodefence.fence.}}, {suffix: {type: .v1}}]`:           true,
		`[{prefix: {type: io.nodefence.fence.}}, {suffix: {type: .v2}}]`:           false,
		`[{any: [{exact: {subject: node-1}}, {exact: {subject: node-7}}]}]`:        true,
		`[{any: [{exact: {subject: node-1}}, {exact: {subject: node-2}}]}]`:        false,
		`[{all: [{exact: {subject: node-7}}, {not: {exact: {partitionkey: x}}}]}]`: true,
		`[{not: {exact: {subject: node-7}}}]`:                                      false,
		`[{cesql: "type LIKE 'io.nodefence.fence.%' AND subject IN ('node-7')"}]`:  true,
		`[{cesql: "EXISTS partitionkey AND partitionkey = 'node-8'"}]`:             false,
		`[{cesql: "nosuch = 'x'"}]`:                                                false,
		`[{cesql: "partitionkey"}]`:                                                false,
	} {
		text := strings.Replace(one("gate", ""), "\n    - exact: {type: test.gate}", " "+filters, 1)
		triggers := parse(t, text)
		if got := triggers[0].Matches(e); got != want {
			t.Errorf("%s: got %v", filters, got)
		}
	}
}

func TestBackoffIsThatOfKnative(t *testing.T) {
	for delivery, want := range map[string][]time.Duration{
		"retry: 2, backoffPolicy: exponential, backoffDelay: PT0.2S": {200 * time.Millisecond, 400 * time.Millisecond},
		"retry: 2, backoffPolicy: linear, backoffDelay: PT1S":        {0, time.Second},
		"retry: 2": {0, 0},
	} {
		tr := parse(t, one("gate", delivery))[0]
		if d := cmp.Diff(want, []time.Duration{tr.Backoff(0), tr.Backoff(1)}); d != "" || tr.Retries != 2 {
			t.Errorf("%s: %d retries, %s", delivery, tr.Retries, d)
		}
	}
}

func TestBadFilesAreRefusedByLineAndField(t *testing.T) {
	good := fixture(t)
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an unknown field of the spec": {swap("  filter: {}", "  filtre: {}"),
			[]string{`18: spec.filtre: unknown field`}},
		"an unknown dialect": {swap("    - exact:\n        type: io.nodefence.fence.isolating.v1", "    - exakt:\n        type: x"),
			[]string{`57: spec.filters[0]: empty: it would pass every event`, `57: spec.filters[0].exakt: unknown field`}},
		"an unknown field deep inside": {swap("            type: io.nodefence.node.healthy.v1\n", "            type: x\n          exat: {type: x}\n"),
			[]string{`25: spec.filters[0].any[1].exat: unknown field`}},
		"CESQL that can't be parsed": {swap("    - exact:\n        type: io.nodefence.fence.isolating.v1", "    - cesql: \"type = \""),
			[]string{`57: spec.filters[0].cesql: *`}},
		"CESQL that is no condition": {swap("    - exact:\n        type: io.nodefence.fence.isolating.v1", "    - cesql: type"),
			[]string{`57: spec.filters[0].cesql: gives string, not true or false`}},
		"a bad filter that is not the last of its list": {swap("    - exact:\n        type: io.nodefence.fence.isolating.v1",
			"    - exact:\n        Type: x\n    - exact:\n        type: x"),
			[]string{`58: spec.filters[0].exact[Type]: invalid key name "Type": Attribute name must start with a letter and can only contain lowercase alphanumeric`}},
		"an empty value": {swap("        type: io.nodefence.fence.isolating.v1", `        type: ""`),
			[]string{`57: spec.filters[0].exact: invalid arguments, attribute and value can't be empty`}},
		"two dialects in one": {swap("    - exact:\n        type: io.nodefence.fence.isolating.v1", "    - exact: {type: x}\n      cesql: \"true\""),
			[]string{`57: spec.filters[0]: more than one dialect`}},
		"a name that stands twice": {swap("  name: nodefence-isolate\n  namespace", "  name: nodefence-gate\n  namespace"),
			[]string{`49: metadata.name: "nodefence-gate" is defined at line 12 already`}},
		"no name": {swap("  name: nodefence-isolate\n  namespace", "  namespace"),
			[]string{`48: metadata.name: missing`}},
		"another broker": {swap("    eventing.knative.dev/broker: nodefence\nspec:\n  broker: nodefence\n  filter: {}\n  filters:\n    - exact:",
			"    eventing.knative.dev/broker: nodefence\nspec:\n  broker: default\n  filter: {}\n  filters:\n    - exact:"),
			[]string{`54: spec.broker: "default", but the first Trigger names "nodefence"`}},
		"no broker": {swap("spec:\n  broker: nodefence\n", "spec:\n"),
			[]string{`16: spec.broker: missing field(s)`}},
		"a subscriber with another name": {swap("      name: nodefence-gate\n", "      name: gate\n"),
			[]string{`33: spec.subscriber.ref.name: "gate" is not nodefence-<function>`}},
		"a subscriber of another kind": {swap("      kind: Service\n      name: nodefence-gate\n", "      kind: Channel\n      name: nodefence-gate\n"),
			[]string{`30: spec.subscriber.ref: serving.knative.dev/v1 Channel is not a Service of serving.knative.dev/v1 or v1`}},
		"a subscriber by URI": {one("gate", "")[:strings.Index(one("gate", ""), "    ref:")] + "    uri: http://gate.example\n",
			[]string{`10: spec.subscriber.uri: not served here: name a Service in ref`}},
		"no subscriber": {one("gate", "")[:strings.Index(one("gate", ""), "  subscriber:")],
			[]string{`5: spec.subscriber.ref: expected at least one, got none`, `5: spec.subscriber.uri: expected at least one, got none`}},
		"a retry below zero": {swap("    retry: 3", "    retry: -1"), []string{`36: spec.delivery.retry: invalid value: -1`}},
		"a retry that is a word": {swap("    retry: 3", "    retry: three"),
			[]string{`36: spec.delivery.retry: is a string, want int32`}},
		"a policy that isn't one": {swap("    backoffPolicy: exponential", "    backoffPolicy: quick"),
			[]string{`37: spec.delivery.backoffPolicy: invalid value: quick`}},
		"a delay that isn't one": {swap("    backoffDelay: PT0.2S", "    backoffDelay: 200ms"),
			[]string{`38: spec.delivery.backoffDelay: invalid value: 200ms`}},
		"another kind": {swap("kind: Trigger\nmetadata:\n  name: nodefence-gate", "kind: Broker\nmetadata:\n  name: nodefence-gate"),
			[]string{`10: kind: eventing.knative.dev/v1 Broker is not a Trigger of eventing.knative.dev/v1`}},
		"a key that stands twice": {swap("    retry: 3\n", "    retry: 3\n    retry: 4\n"),
			[]string{`37: key "retry" already set in map`}},
		"no YAML": {swap("spec:\n  broker: nodefence\n", "spec:\n  broker: [nodefence\n"), []string{`*`}},
		"a separator with a comment hides nothing": {"--- # first\n" + one("gate", "") + "--- # second\n" + strings.Replace(one("gate", "retry: -1"), "test.gate", "test.other", 1),
			[]string{`18: metadata.name: "nodefence-gate" is defined at line 5 already`, `25: spec.delivery.retry: invalid value: -1`}},
		"nothing": {"# soon\n", []string{`1: kind: no Trigger in the file`}},
		"two faults in two Triggers": {strings.Replace(swap("    retry: 3", "    retry: -1"), "name: nodefence-power\n      namespace", "name: power\n      namespace", 1),
			[]string{`36: spec.delivery.retry: invalid value: -1`, `96: spec.subscriber.ref.name: "power" is not nodefence-<function>`}},
	} {
		t.Run(name, func(t *testing.T) {
			triggers, err := Parse("triggers.yaml", []byte(c.text))
			if err == nil || triggers != nil {
				t.Fatalf("accepted: %v", triggers)
			}
			var got []string
			for i, line := range strings.Split(err.Error(), "\n") {
				rest, ok := strings.CutPrefix(line, "triggers.yaml:")
				if !ok {
					t.Errorf("line without its file: %s", line)
				}
				// The parsers' own words may change; where they point may not.
				if i < len(c.want) && strings.HasSuffix(c.want[i], "*") && strings.HasPrefix(rest, strings.TrimSuffix(c.want[i], "*")) {
					rest = c.want[i]
				}
				got = append(got, rest)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("kind: X\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || err.Error() != path+":1: kind: X is not a Trigger of eventing.knative.dev/v1" {
		t.Errorf("bad file: %v", err)
	}
}

func TestEveryFieldOfATriggerHasALine(t *testing.T) {
	text := one("gate", "retry: 1")
	d := split("f", []byte(text))[0]
	d.read()
	lines := strings.Split(text, "\n")
	for field, want := range map[string]string{
		"spec.filters[0].exact[type]": "- exact", "spec.delivery.retry": "delivery", "spec.nosuch.deeper": "spec:", "": "apiVersion",
	} {
		if got := lines[d.line(field)-1]; !strings.Contains(got, want) {
			t.Errorf("%s: points at %q", field, got)
		}
	}
	var whole eventingv1.Trigger
	if err := sigsyaml.UnmarshalStrict([]byte(strings.TrimSuffix(text, "---\n")), &whole); err != nil {
		t.Error(fmt.Errorf("kubectl's own reading: %w", err))
	}
}

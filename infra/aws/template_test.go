package aws

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/infra/knative"
	"github.com/nodefence/nodefence/infra/local/broker"
)

func stack(t *testing.T) *Stack {
	t.Helper()
	s, err := Parse(Template)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rulesOf(t *testing.T) []Rule {
	t.Helper()
	all, err := stack(t).Rules()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRulesTriggersAndOwnersAgree: EventBridge routes as the Triggers do, and
// both to the function that owns the event.
func TestRulesTriggersAndOwnersAgree(t *testing.T) {
	triggers, err := broker.Parse("triggers.yaml", knative.Triggers)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range append(events.Types(), events.RequestFence) {
		e := event.New()
		e.SetType(typ)
		e.SetID("1")
		e.SetSource("/nodefence/c")
		var byRule, byTrigger []string
		for _, r := range rulesOf(t) {
			if r.Matches(e.Source(), typ) {
				byRule = append(byRule, r.Function)
			}
		}
		for i := range triggers {
			if triggers[i].Matches(e) {
				byTrigger = append(byTrigger, triggers[i].Function)
			}
		}
		var want []string
		if o := functions.Owner(typ); o != "" {
			want = []string{o}
		}
		if !slices.Equal(byRule, want) || !slices.Equal(byTrigger, want) {
			t.Errorf("%s belongs to %v; rules send it to %v, triggers to %v", typ, want, byRule, byTrigger)
		}
	}
}

func TestTheClockWakesTheWakerAndWhatWasGivenUpIsTold(t *testing.T) {
	scheduled := map[string]string{}
	for _, r := range rulesOf(t) {
		if r.Schedule != "" {
			scheduled[r.Function] = r.Schedule
		}
		if given := r.Matches("lambda", "Lambda Function Invocation Result - Failure"); given != (r.Function == "deadletter") {
			t.Errorf("%s gets what was given up: %v", r.Function, given)
		}
	}
	if d := cmp.Diff(map[string]string{functions.Owner(events.Scheduled): "rate(1 minute)"}, scheduled); d != "" {
		t.Error(d)
	}
}

// names are the functions that this build has.
func names(t *testing.T) []string {
	t.Helper()
	p, err := functions.NewParts(context.Background(), functions.Settings{Cluster: "c"}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	p.Sender = nobody{}
	return slices.Sorted(maps.Keys(functions.Handlers(p)))
}

type nobody struct{}

func (nobody) Send(context.Context, event.Event) error { return nil }

// TestEachFunctionIsComplete: every function that this build has is there once,
// with a role, a log and an entry in the cluster of its own.
func TestEachFunctionIsComplete(t *testing.T) {
	s := stack(t)
	var got []string
	for id, r := range s.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		name := at[string](t, r, "Environment", "Variables", "NODEFENCE_FUNCTION")
		got = append(got, name)
		role, log, access := s.Resources[id+"Role"], s.Resources[id+"Log"], s.Resources[id+"Access"]
		for what, ok := range map[string]bool{
			"a role of its own":      cmp.Equal(r.Properties["Role"], ref("Fn::GetAtt", id+"Role.Arn")) && role.Type == "AWS::IAM::Role",
			"a log that ends":        log.Type == "AWS::Logs::LogGroup" && log.Properties["RetentionInDays"] != nil && cmp.Equal(at[any](t, r, "LoggingConfig", "LogGroup"), any(ref("Ref", id+"Log"))),
			"an entry for its role":  access.Type == "AWS::EKS::AccessEntry" && cmp.Equal(access.Properties["PrincipalArn"], any(ref("Fn::GetAtt", id+"Role.Arn"))),
			"a group as its account": cmp.Equal(access.Properties["KubernetesGroups"], any([]any{"nodefence-" + name})) && access.Properties["Username"] == "nodefence-"+name,
			"a place for failures":   name == "waker" || at[map[string]any](t, r, "EventInvokeConfig", "DestinationConfig", "OnFailure") != nil,
			"no time of its own":     r.Properties["Timeout"] == nil,
		} {
			if !ok {
				t.Errorf("%s lacks %s", id, what)
			}
		}
		for event := range at[map[string]any](t, r, "Events") {
			if d := cmp.Diff(any(ref("Fn::GetAtt", "RuleDeadLetters.Arn")), at[any](t, r, "Events", event, "Properties", "DeadLetterConfig", "Arn")); d != "" {
				t.Errorf("%s %s has no dead letters:\n%s", id, event, d)
			}
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(names(t), got); d != "" {
		t.Errorf("functions of this build, and of the template:\n%s", d)
	}
	if seconds := s.Globals.Function["Timeout"].(float64); seconds > 60 {
		t.Errorf("functions may take %v s", seconds)
	}
}

func TestAlarmsWatchEveryFunctionAndQueue(t *testing.T) {
	s := stack(t)
	watched := fmt.Sprint(s.Resources["ErrorsAlarm"], s.Resources["ThrottlesAlarm"], s.Resources["RuleDeadLettersAlarm"], s.Resources["FunctionDeadLettersAlarm"])
	for id, r := range s.Resources {
		want := 0
		switch r.Type {
		case "AWS::Serverless::Function":
			want = 2
		case "AWS::SQS::Queue":
			want = 1
		}
		if got := strings.Count(watched, "[Ref:"+id+"]") + strings.Count(watched, "[Fn::GetAtt:"+id+".QueueName]"); want > 0 && got != want {
			t.Errorf("%s is watched by %d alarms, want %d", id, got, want)
		}
	}
	for _, name := range []string{"ErrorsAlarm", "ThrottlesAlarm"} {
		sum := at[[]any](t, s.Resources[name], "Metrics")[0].(map[string]any)["Expression"].(string)
		for _, f := range names(t) {
			if !strings.Contains(sum, "FILL("+f+", 0)") {
				t.Errorf("%s leaves %s out: %s", name, f, sum)
			}
		}
	}
}

var substituted = regexp.MustCompile(`\$\{([^}]+)\}`)

// TestNothingIsReferredToThatIsNotThere holds every Ref, GetAtt and Sub.
func TestNothingIsReferredToThatIsNotThere(t *testing.T) {
	s := stack(t)
	exists := func(name string) bool {
		name, _, _ = strings.Cut(name, ".")
		_, resource := s.Resources[name]
		_, parameter := s.Parameters[name]
		return resource || parameter || strings.HasPrefix(name, "AWS::")
	}
	walk(map[string]any{"g": s.Globals.Function, "r": plain(s.Resources)}, func(key string, value any) {
		text, _ := value.(string)
		switch {
		case (key == "Ref" || key == "Fn::GetAtt") && !exists(text):
			t.Errorf("%s %s: there is none", key, text)
		case key == "Fn::Sub":
			for _, m := range substituted.FindAllStringSubmatch(text, -1) {
				if !exists(m[1]) {
					t.Errorf("%s: there is no %s", text, m[1])
				}
			}
		}
	})
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	const function = "Resources:\n  F:\n    Type: AWS::Serverless::Function\n    Properties:\n      Events: {R: {Properties: {Pattern: %s}}}\n"
	for name, c := range map[string]struct{ text, want string }{
		"an alias":          {"Resources: &a\n  X: *a\n", "takes no aliases"},
		"a key given twice": {"Resources: {}\nResources: {}\n", "Resources stands there already"},
		"a prefix":          {fmt.Sprintf(function, `{detail-type: [{prefix: io.}]}`), "only lists of exact values are understood"},
		"another field":     {fmt.Sprintf(function, `{account: ["1"]}`), "a pattern of account is not understood here"},
	} {
		s, err := Parse([]byte(c.text))
		if err == nil {
			_, err = s.Rules()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ref(kind, name string) map[string]any { return map[string]any{kind: name} }

// at is what stands at a path, or the zero value.
func at[T any](t *testing.T, r Resource, path ...string) T {
	t.Helper()
	var v any = r.Properties
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	out, _ := v.(T)
	return out
}

func plain(resources map[string]Resource) map[string]any {
	out := map[string]any{}
	for id, r := range resources {
		out[id] = r.Properties
	}
	return out
}

func walk(v any, visit func(key string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			visit(k, x)
			walk(x, visit)
		}
	case []any:
		for _, x := range v {
			walk(x, visit)
		}
	}
}

package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEachRoleMayDoWhatItMust and nothing else.
func TestEachRoleMayDoWhatItMust(t *testing.T) {
	log := []string{"logs:CreateLogStream", "logs:PutLogEvents"}
	publishes := append([]string{"PutEvents"}, log...)
	want := map[string][]string{
		"GateRole": publishes, "IsolateRole": publishes, "CleanupRole": publishes, "RecoverRole": publishes, "WakerRole": publishes,
		"PowerRole":      append(slices.Clone(publishes), "ec2:DescribeInstances", "ec2:StopInstances", "ec2:StartInstances"),
		"DeadletterRole": append(slices.Clone(log), "sqs:SendMessage"),
	}
	got := map[string][]string{}
	s := stack(t)
	for id, r := range s.Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		for _, m := range at[[]any](t, r, "ManagedPolicyArns") {
			if name, ok := m.(map[string]any)["Ref"].(string); ok {
				got[id] = append(got[id], name)
			}
		}
		for _, p := range at[[]any](t, r, "Policies") {
			for _, a := range actions(t, p.(map[string]any)["PolicyDocument"]) {
				if !slices.Contains(got[id], a) {
					got[id] = append(got[id], a)
				}
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"events:PutEvents"}, actions(t, s.Resources["PutEvents"].Properties["PolicyDocument"])); d != "" {
		t.Error(d)
	}
}

// TestOnlyTheClustersInstancesAreSwitched: Stop and Start always have a condition.
func TestOnlyTheClustersInstancesAreSwitched(t *testing.T) {
	seen := 0
	for _, p := range at[[]any](t, stack(t).Resources["PowerRole"], "Policies") {
		for _, st := range p.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			st := st.(map[string]any)
			if !strings.Contains(fmt.Sprint(st["Action"]), "Instances") || fmt.Sprint(st["Action"]) == "ec2:DescribeInstances" {
				continue
			}
			seen++
			equal, _ := st["Condition"].(map[string]any)["StringEquals"].(map[string]any)
			for key, value := range equal {
				if !strings.HasPrefix(key, "aws:ResourceTag/") || !cmp.Equal(value, any(ref("Ref", "ClusterName"))) {
					t.Errorf("%s: %v does not hold it to this cluster", key, value)
				}
			}
			if len(equal) != 1 {
				t.Errorf("no condition: %v", st)
			}
		}
	}
	if seen == 0 {
		t.Error("nothing may switch an instance")
	}
}

func actions(t *testing.T, document any) []string {
	t.Helper()
	var all []string
	for _, st := range document.(map[string]any)["Statement"].([]any) {
		switch a := st.(map[string]any)["Action"].(type) {
		case string:
			all = append(all, a)
		case []any:
			for _, x := range a {
				all = append(all, x.(string))
			}
		default:
			t.Fatalf("action %v", a)
		}
	}
	return all
}

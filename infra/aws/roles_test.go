package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run/invoke"
)

// TestEachRoleMayDoWhatItMust and nothing else.
func TestEachRoleMayDoWhatItMust(t *testing.T) {
	log := []string{"logs:CreateLogStream", "logs:PutLogEvents"}
	publishes := append([]string{"PutEvents"}, log...)
	want := map[string][]string{
		"GateRole": publishes, "IsolateRole": publishes, "CleanupRole": publishes, "RecoverRole": publishes, "RequestRole": publishes,
		"ResyncRole": append(slices.Clone(log), "lambda:InvokeFunction"), "PolicyStatusRole": log, "AdoptRole": log,
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

// TestResyncCallsTheOwnersAlone, by the names that they have.
func TestResyncCallsTheOwnersAlone(t *testing.T) {
	s := stack(t)
	var got, want []any
	for _, p := range at[[]any](t, s.Resources["ResyncRole"], "Policies") {
		for _, st := range p.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			if st := st.(map[string]any); st["Action"] == "lambda:InvokeFunction" {
				got = append(got, st["Resource"].([]any)...)
			}
		}
	}
	for _, id := range []string{"Gate", "Isolate", "Power", "Cleanup", "Recover", "Request"} {
		want = append(want, ref("Fn::GetAtt", id+".Arn"))
		name := at[map[string]any](t, s.Resources[id], "FunctionName")["Fn::Sub"]
		pattern := at[map[string]any](t, s.Resources["Resync"], "Environment", "Variables", "NODEFENCE_DIRECT")["Fn::Sub"].(string)
		if called := strings.ReplaceAll(pattern, invoke.FunctionName, strings.ToLower(id)); called != name {
			t.Errorf("resync calls %s, which is %s", called, name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
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

// TestPowerMayLetEC2UseTheKeysOfVolumes: only the keys that the stack names, and only for AWS's own
// use of them. Without that an instance with volumes under such a key is stopped, and can't be started.
func TestPowerMayLetEC2UseTheKeysOfVolumes(t *testing.T) {
	const keys = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab,arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/mrk-1234abcd12ab34cd56ef1234567890ab"
	s, err := stack(t).With(map[string]string{"VolumeKeyArns": keys})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Resources["PowerVolumeKeys"]
	if r.Type != "AWS::IAM::RolePolicy" || !cmp.Equal(r.Properties["RoleName"], any(ref("Ref", "PowerRole"))) {
		t.Errorf("%+v", r)
	}
	want := []any{map[string]any{
		"Effect": "Allow", "Action": "kms:CreateGrant", "Resource": ref("Ref", "VolumeKeyArns"),
		"Condition": map[string]any{"Bool": map[string]any{"kms:GrantIsForAWSResource": "true"}},
	}}
	if d := cmp.Diff(want, at[[]any](t, r, "PolicyDocument", "Statement")); d != "" {
		t.Error(d)
	}
	for _, no := range []string{"*", "alias/volumes", "arn:aws:kms:eu-central-1:111122223333:alias/volumes", "arn:aws:kms:eu-central-1:111122223333:key/*", keys + ", " + keys} {
		if _, err := stack(t).With(map[string]string{"VolumeKeyArns": no}); err == nil {
			t.Errorf("%q is taken for a key", no)
		}
	}
}

// TestIsolateMayRewire its own VPC's interfaces and the cluster's own instances' tags,
// and only where the stack says which VPC that is.
func TestIsolateMayRewire(t *testing.T) {
	r := stack(t).Resources["IsolateNetwork"]
	if r.Type != "AWS::IAM::RolePolicy" || r.Condition != "IsolatesNetwork" || !cmp.Equal(r.Properties["RoleName"], any(ref("Ref", "IsolateRole"))) {
		t.Errorf("%+v", r)
	}
	got := map[string]int{}
	for _, st := range r.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		st := st.(map[string]any)
		held := fmt.Sprint(st["Condition"])
		for _, a := range actions(t, map[string]any{"Statement": []any{st}}) {
			got[a]++
			switch {
			case a == "ec2:DescribeInstances":
			case a == "ec2:ModifyNetworkInterfaceAttribute" && strings.Contains(held, "ec2:Vpc") && strings.Contains(held, "${IsolationVpcId}"):
			case strings.HasSuffix(a, "Tags") && strings.Contains(held, "aws:ResourceTag/") && strings.Contains(held, "ClusterName") && strings.Contains(held, "StringLike:map[aws:TagKeys:nodefence.io/security-groups/*]") && strings.Contains(held, "Null:map[aws:TagKeys:false]"):
			default:
				t.Errorf("%s is held to nothing of this cluster: %s", a, held)
			}
		}
	}
	if d := cmp.Diff(map[string]int{"ec2:DescribeInstances": 1, "ec2:ModifyNetworkInterfaceAttribute": 1, "ec2:CreateTags": 3, "ec2:DeleteTags": 3}, got); d != "" {
		t.Error(d)
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

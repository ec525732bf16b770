package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// limits are what a part's pods are told of a call's time, and what the platform gives them.
type limits struct {
	Call, Invocation string
	Timeout, Grace   any
}

// limited are the limits of each part.
func limited(objects []manifests.Object) map[string]limits {
	all := map[string]limits{}
	for _, o := range objects {
		pod, is, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		if part := labels["nodefence.io/function"]; is {
			all[part] = limits{
				Call: variable(objects, part, "NODEFENCE_DEVICE_CALL_TIMEOUT"), Invocation: variable(objects, part, "NODEFENCE_INVOCATION_TIMEOUT"),
				Timeout: pod["timeoutSeconds"], Grace: pod["terminationGracePeriodSeconds"],
			}
		}
	}
	return all
}

// TestOneValueSaysHowLongACallMayTake: programs and platform agree, in each part (S7, S10).
func TestOneValueSaysHowLongACallMayTake(t *testing.T) {
	c := loaded(t)
	for _, r := range []struct {
		seconds         int
		deployment, own limits // own is that of a Knative Service
	}{
		{1, limits{Call: "1s", Invocation: "60s"}, limits{Call: "1s", Invocation: "60s", Timeout: 60.0}},
		{20, limits{}, limits{Timeout: 60.0}},
		{21, limits{Call: "21s", Invocation: "61s", Grace: 36.0}, limits{Call: "21s", Invocation: "61s", Timeout: 61.0}},
		{60, limits{Call: "60s", Invocation: "100s", Grace: 75.0}, limits{Call: "60s", Invocation: "100s", Timeout: 100.0}},
		{120, limits{Call: "120s", Invocation: "160s", Grace: 135.0}, limits{Call: "120s", Invocation: "160s", Timeout: 160.0}},
	} {
		for _, platform := range manifests.Platforms {
			got, err := render(c, "default", fmt.Sprintf("platform: %s\ndeviceCallSeconds: %d\ncomponents: {far: {enabled: true}, kdump: {enabled: true}}", platform, r.seconds))
			must(t, err)
			want := map[string]limits{"source": r.deployment, "adopt": r.deployment, "kdump": r.deployment}
			for _, part := range []string{"cleanup", "deadletter", "gate", "isolate", "policystatus", "power", "recover", "request", "resync"} {
				if want[part] = r.deployment; platform == "serving" {
					want[part] = r.own
				}
			}
			if d := cmp.Diff(want, limited(got)); d != "" {
				t.Errorf("%d s on %s:\n%s", r.seconds, platform, d)
			}
		}
	}
}

// TestThePageSaysTheSameLimits as the chart sets, for a call of 60 s.
func TestThePageSaysTheSameLimits(t *testing.T) {
	page := string(read(t, "functions/power/SLOW.md"))
	for _, want := range []string{"`NODEFENCE_DEVICE_CALL_TIMEOUT=60s`", "`NODEFENCE_INVOCATION_TIMEOUT=100s`", "`terminationGracePeriodSeconds: 75`", "`timeoutSeconds: 100`", "`deviceCallSeconds: 60`"} {
		if !strings.Contains(page, want) {
			t.Errorf("SLOW.md does not say %s", want)
		}
	}
}

// TestCallsAreSetByOneValue, and not by the two variables, which leave the platform's limits alone.
func TestCallsAreSetByOneValue(t *testing.T) {
	c := loaded(t)
	for _, name := range []string{"NODEFENCE_DEVICE_CALL_TIMEOUT", "NODEFENCE_INVOCATION_TIMEOUT"} {
		for _, part := range []string{"all", "power"} {
			_, err := render(c, "default", "settings: {"+part+": {"+name+": 30s}}")
			if err == nil || !strings.Contains(err.Error(), "settings."+part+"."+name) || !strings.Contains(err.Error(), "set deviceCallSeconds") {
				t.Errorf("%s of %s: got %v", name, part, err)
			}
		}
	}
}

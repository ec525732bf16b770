package far

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// sampled is a template about nodes a and b, with a sample.
func sampled(sample string) *Template {
	t := &Template{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", UID: "t", Generation: 1}}
	t.Spec.Template.Spec = bmc(nil)
	t.Spec.StatusValidationSample = json.RawMessage(sample)
	return t
}

// target is a FenceTarget whose one device was read so long after now.
func target(after time.Duration, reason api.Reason, state api.PowerState) SampledNode {
	at := metav1.NewMicroTime(now.Add(after))
	t := &api.FenceTarget{Status: api.FenceTargetStatus{LastChecked: &at, Devices: []api.TargetDevice{{Driver: "ipmi", Role: api.RolePower, Reason: reason, State: state, LastChecked: &at}}}}
	if reason != api.DeviceAnswers {
		t.Status.Devices[0].Message = "so"
	}
	return SampledNode{There: true, Target: t}
}

// look has a template validated so long after now, and says how it stands.
func (t *Template) look(after time.Duration, nodes map[string]SampledNode) string {
	t.Status = Validate(t, nodes, now.Add(after))
	c := meta.FindStatusCondition(t.Status.Conditions, ConditionStatusValidation)
	if c == nil {
		return fmt.Sprintf("none %v %v", t.Status.ValidationFailed, t.Status.ValidationPassed)
	}
	return fmt.Sprintf("%s %s %q of %d, failed %v, passed %v", c.Status, c.Reason, c.Message, c.ObservedGeneration, t.Status.ValidationFailed, slices.Sorted(maps.Keys(t.Status.ValidationPassed)))
}

// TestSample: the first nodes by name, a percentage rounded up, and never more than there are.
func TestSample(t *testing.T) {
	for sample, want := range map[string]string{
		"": "", "null": "", "0": "", `"0%"`: "", "1": "a", `"1%"`: "a", `"34%"`: "a b", `"66%"`: "a b", "2": "a b", `"100%"`: "a b c", "7": "a b c",
		`"x"`:        "parameters validation failed invalid value of StatusValidationSample: x",
		"-1":         "parameters validation failed invalid value of StatusValidationSample: -1",
		"3000000000": "parameters validation failed invalid value of StatusValidationSample: 3000000000",
		"true":       "parameters validation failed invalid value of StatusValidationSample: true",
	} {
		is := sampled(sample)
		is.Spec.Template.Spec.NodeSecretNames = map[string]string{"c": "s", "a": "s"}
		nodes, err := Sample(is)
		got := strings.Join(nodes, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sample, got, want)
		}
	}
}

// TestAWrongSampleKeepsNoTemplateFromBeingRead: all templates are read at once, and by each its nodes
// have their devices.
func TestAWrongSampleKeepsNoTemplateFromBeingRead(t *testing.T) {
	var is Template
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "t"}, "spec": {"statusValidationSample": 3000000000, "template": {"spec": {"agent": "fence_ipmilan"}}}}`), &is); err != nil || is.Spec.Template.Spec.Agent == "" {
		t.Error(err)
	}
	want := `False ValidationFailed "parameters validation failed invalid value of StatusValidationSample: 3000000000" of 0, failed map[], passed []`
	if got := is.look(0, nil); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestValidate: a round begins, nodes pass and fail by reads that were made with the spec as it is for
// certain, and a node that failed passes later. Then it stands until the spec changes.
func TestValidate(t *testing.T) {
	is := sampled(`"100%"`)
	both := func(a, b SampledNode) map[string]SampledNode { return map[string]SampledNode{"a": a, "b": b} }
	on := func(after time.Duration) SampledNode { return target(after, api.DeviceAnswers, api.PoweredOn) }
	const begun = `Unknown ValidationInProgress "validating parameters for 2 node(s)" of `
	failing := `False ValidationFailed "parameters validation failed for 1 node(s)" of 1, failed map[b:DeviceUnreachable: so], passed []`
	for i, step := range []struct {
		after time.Duration
		nodes map[string]SampledNode
		want  string
	}{
		{0, both(on(-time.Second), on(-time.Second)), begun + "1, failed map[], passed []"},
		{44 * time.Second, both(on(44*time.Second), target(44*time.Second, api.DeviceUnreachable, api.PowerUnknown)), begun + "1, failed map[], passed []"},
		{46 * time.Second, both(on(45*time.Second), SampledNode{There: true}), begun + "1, failed map[], passed [a]"},
		{50 * time.Second, map[string]SampledNode{"b": target(47*time.Second, api.DeviceUnreachable, api.PowerUnknown)}, failing},
		{60 * time.Second, map[string]SampledNode{"b": on(55 * time.Second)}, failing},
		{99 * time.Second, nil, failing},
		{99 * time.Second, map[string]SampledNode{"b": on(96 * time.Second)}, `True ValidationSucceeded "parameters validation succeeded" of 1, failed map[], passed []`},
		{200 * time.Second, map[string]SampledNode{"b": target(200*time.Second, api.DeviceUnreachable, api.PowerUnknown)}, `True ValidationSucceeded "parameters validation succeeded" of 1, failed map[], passed []`},
	} {
		if got := is.look(step.after, step.nodes); got != step.want {
			t.Errorf("step %d:\n%s\nwant\n%s", i, got, step.want)
		}
	}
	is.Generation = 2
	if got, want := is.look(300*time.Second, both(on(299*time.Second), on(299*time.Second))), begun+"2, failed map[], passed []"; got != want {
		t.Errorf("changed: %s", got)
	}
	is.Generation = 3 // within the round: it begins again
	is.look(340*time.Second, nil)
	if got, want := is.look(346*time.Second, both(on(345*time.Second), on(345*time.Second))), begun+"3, failed map[], passed []"; got != want {
		t.Errorf("changed in a round: %s", got)
	}
	is.Spec.StatusValidationSample = nil
	is.Status.Conditions = append(is.Status.Conditions, metav1.Condition{Type: "Other"})
	if got := is.look(400*time.Second, nil); got != "none map[] map[]" || len(is.Status.Conditions) != 1 {
		t.Errorf("without a sample: %s, %v", got, is.Status.Conditions)
	}
}

// TestWhatANodeFailsBy: in the FenceTarget's own words, and never passed by a device that is not the
// template's, or was not read on.
func TestWhatANodeFailsBy(t *testing.T) {
	const late = time.Minute
	unfit := target(late, api.DeviceAnswers, api.PoweredOn)
	unfit.Target.Status.Devices = nil
	unfit.Target.Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: no, Reason: "BindingInvalid", Message: "two templates differ"}}
	cut := target(late, api.DeviceAnswers, api.PoweredOn)
	cut.Target.Status.Devices = append(cut.Target.Status.Devices, api.TargetDevice{Role: api.RoleNetwork, Reason: api.DeviceFailed, Message: "no"})
	second := target(late, api.DeviceAnswers, api.PoweredOn)
	second.Target.Status.Devices = append(second.Target.Status.Devices, target(-late, api.DeviceAnswers, api.PoweredOn).Target.Status.Devices...)
	asked := target(late, api.DeviceAnswers, api.PoweredOn)
	asked.Asked = true
	const notKnown = "?"
	for name, c := range map[string]struct {
		node   SampledNode
		change func(*Spec)
		want   string
	}{
		"it is on":                    {target(late, api.DeviceAnswers, api.PoweredOn), nil, ""},
		"it is off":                   {target(late, api.DeviceAnswers, api.PoweredOff), nil, "the device answers, and its status is not ON: PoweredOff"},
		"off, and the node is Ready":  {target(late, api.SignOfLife, api.PoweredOff), nil, "SignOfLife: so"},
		"another machine":             {target(late, api.WrongMachine, api.PoweredOn), nil, "WrongMachine: so"},
		"refused, a while ago":        {target(-late, api.DeviceDenied, api.PowerUnknown), nil, "DeviceDenied: so; once mended it is read after an hour, or at once if you ask (annotation nodefence.io/check-now of the FenceTarget)"},
		"no device":                   {unfit, nil, "BindingInvalid: two templates differ"},
		"an isolation is not its own": {cut, nil, ""},
		"another level was not read":  {second, nil, notKnown},
		"an object gives the device":  {asked, nil, notKnown},
		"not checked yet":             {SampledNode{There: true}, nil, notKnown},
		"no node":                     {SampledNode{}, nil, "not read: there is no node a"},
		"a fault":                     {target(late, api.DeviceAnswers, api.PoweredOn), func(s *Spec) { s.Agent = "x" }, `spec.agent: "x" is not the name of a fence agent, such as fence_ipmilan`},
		"only its Secret is named": {target(late, api.DeviceAnswers, api.PoweredOn), func(s *Spec) {
			s.NodeParameters = nil
			s.SharedParameters["--ip"] = "{{.NodeName}}"
			s.NodeSecretNames = map[string]string{"a": "s"}
		}, "not read: a node that nodeparameters do not list has no device before an object asks for its fence; list it there"},
	} {
		is := sampled("1")
		if c.change != nil {
			c.change(&is.Spec.Template.Spec)
		}
		is.look(0, nil)
		is.look(late, map[string]SampledNode{"a": c.node})
		got, failed := is.Status.ValidationFailed["a"]
		if status := meta.FindStatusCondition(is.Status.Conditions, ConditionStatusValidation).Status; !failed && status == unknown {
			got = notKnown
		} else if failed != (status == no) {
			t.Errorf("%s: it is %s, and failed %v", name, status, is.Status.ValidationFailed)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnvalidated: only those nodes are looked at of which something is still to be known.
func TestUnvalidated(t *testing.T) {
	is := sampled(`"100%"`)
	is.Spec.Template.Spec.NodeSecretNames = map[string]string{"c": "s"}
	want := func(when, nodes string) {
		t.Helper()
		if got := strings.Join(Unvalidated(is), " "); got != nodes {
			t.Errorf("%s: %q, want %q", when, got, nodes)
		}
	}
	want("before the round", "")
	is.look(0, nil)
	want("in the round", "a b")
	on := target(time.Minute, api.DeviceAnswers, api.PoweredOn)
	is.look(time.Minute, map[string]SampledNode{"a": on})
	want("one has passed", "b")
	is.look(time.Minute, map[string]SampledNode{"b": target(time.Minute, api.DeviceFailed, api.PowerUnknown)})
	want("one has failed", "b")
	is.look(3*time.Minute, map[string]SampledNode{"b": target(3*time.Minute, api.DeviceAnswers, api.PoweredOn)})
	want("only the spec is wrong", "")
}

// TestManyFailures: what a status says of 5,000 nodes has a bound, and of few nodes it says all.
func TestManyFailures(t *testing.T) {
	is := sampled(`"100%"`)
	nodes := map[string]SampledNode{}
	for i := range 5000 {
		name := fmt.Sprintf("node-%04d", i)
		is.Spec.Template.Spec.NodeParameters["--ip"][name], is.Spec.Template.Spec.NodeParameters["--ipport"][name] = name, "623"
		n := target(time.Minute, api.DeviceUnreachable, api.PowerUnknown)
		n.Target.Status.Devices[0].Message = strings.Repeat("long ", 100)
		nodes[name] = n
	}
	is.look(0, nil)
	is.look(time.Minute, nodes)
	bytes := 0
	for node, why := range is.Status.ValidationFailed {
		bytes += len(node) + len(why)
	}
	if len(is.Status.ValidationFailed) != 5000 || bytes > 400<<10 {
		t.Errorf("%d nodes, %d bytes", len(is.Status.ValidationFailed), bytes)
	}
	few := sampled("1")
	few.look(0, nil)
	long := target(time.Minute, api.DeviceUnreachable, api.PowerUnknown)
	long.Target.Status.Devices[0].Message = strings.Repeat("x", 900)
	few.look(time.Minute, map[string]SampledNode{"a": long})
	if got := len(few.Status.ValidationFailed["a"]); got != 900+len("DeviceUnreachable: ") || got > clip.MessageBytes {
		t.Errorf("of one node %d bytes", got)
	}
}

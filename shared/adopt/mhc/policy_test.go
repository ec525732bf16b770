package mhc

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

const ofWorkers = `{"selector":{"matchLabels":{"pool":"a"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"300s"}],"maxUnhealthy":"40%"`

func workers(t *testing.T, rest string) *Check {
	t.Helper()
	c, err := Read(openshift, raw(ofWorkers+rest+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPolicy: what follows, as it is typed.
func TestPolicy(t *testing.T) {
	deletes := `"machines":{"selector":{"matchLabels":{"pool":"a"},"matchExpressions":[{"key":"cluster.x-k8s.io/cluster-name","operator":"DoesNotExist"}]},"namespace":"ns","startupTimeout":"10m0s","withoutNode":"Delete"}`
	name := workers(t, "").PolicyName()
	full := func(action, machines, max, rest string) string {
		return `{"selector":{"matchLabels":{"machine-health-check.nodefence.io/` + name + `":"true"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","duration":"5m0s"}],` +
			machines + `,"action":"` + action + `","limits":{"maxUnhealthy":` + max + `},"mode":"Enforce","precedence":1000` + rest + `}`
	}
	for what, c := range map[string]struct {
		spec, strategy, want string
		hold                 bool
	}{
		"deletion":        {"", "", full("PowerOff", deletes, "2", ""), false},
		"no startup":      {`,"nodeStartupTimeout":"0"`, "", full("PowerOff", strings.Replace(deletes, "Delete", "Report", 1), "2", ""), false},
		"another startup": {`,"nodeStartupTimeout":"25m"`, "", full("PowerOff", strings.Replace(deletes, "10m", "25m", 1), "2", ""), false},
		"by power":        {"", byBareMetal, full("Reboot", strings.Replace(deletes, "Delete", "Report", 1), "2", ""), false},
		"another word":    {"", "x", full("PowerOff", deletes, "2", ""), false},
		"held":            {"", "", full("PowerOff", deletes, "2", `,"pauseRequests":["MachineHealthCheck ns/workers"]`), true},
	} {
		check := workers(t, c.spec)
		check.Annotations = map[string]string{remediation: c.strategy}
		o, changed := check.Policy(nil, Count{To: 2}, c.hold, now)
		got, err := json.Marshal(o)
		if err != nil || !changed {
			t.Fatal(err, changed)
		}
		var typed, want api.FencePolicy
		if err := json.Unmarshal(got, &typed); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FencePolicy","metadata":{"name":"`+name+`","labels":{"nodefence.io/adopted-from":"machine-health-check"},"annotations":{"nodefence.io/machine-health-check":"machine.openshift.io/ns/workers","nodefence.io/computed-at":"2026-01-02T03:04:05Z"}},"spec":`+c.want+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, typed); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// TestPolicyOfPeople: what follows from the object is written over what people wrote. Everything else
// of the policy is theirs.
func TestPolicyOfPeople(t *testing.T) {
	check := workers(t, "")
	made, _ := check.Policy(nil, Count{To: 2}, true, now)
	for after, want := range map[time.Duration]bool{0: false, 2 * time.Minute: false, 2*time.Minute + time.Second: true} {
		if _, changed := check.Policy(made, Count{To: 2}, true, now.Add(after)); changed != want {
			t.Errorf("what is as it should be, after %s: written again: %v", after, changed)
		}
	}
	spec := made["spec"].(map[string]any)
	spec["mode"], spec["kept"], spec["precedence"] = "DryRun", true, 7.
	spec["pauseRequests"] = []any{"me", check.pause()}
	spec["limits"] = map[string]any{"maxUnhealthy": 9., "maxConcurrent": 4.}
	spec["selector"] = map[string]any{}
	spec["action"] = "Isolate"
	before, _ := json.Marshal(made)
	after, changed := check.Policy(made, Count{To: 3}, false, now.Add(time.Second))
	if as, _ := json.Marshal(made); !changed || string(before) != string(as) {
		t.Error("the object itself was changed, or nothing was")
	}
	if at := after["metadata"].(map[string]any)["annotations"].(map[string]any)[policy.ComputedAt]; at != "2026-01-02T03:04:06Z" {
		t.Errorf("computed at %v", at)
	}
	is := after["spec"].(map[string]any)
	want := map[string]any{
		"mode": "DryRun", "kept": true, "precedence": 7., "pauseRequests": []any{"me"}, "limits": map[string]any{"maxUnhealthy": 3., "maxConcurrent": 4.},
		"action": "PowerOff", "selector": map[string]any{"matchLabels": map[string]any{check.Label(): "true"}},
		"machines": spec["machines"], "unhealthyConditions": spec["unhealthyConditions"],
	}
	if d := cmp.Diff(want, is); d != "" {
		t.Error(d)
	}
}

// TestHeld: one that is not answered holds its policy, and changes nothing else.
func TestHeld(t *testing.T) {
	check := &Check{}
	check.APIVersion, check.Kind, check.Namespace, check.Name = openshift, "MachineHealthCheck", "ns", "workers"
	object := map[string]any{"spec": map[string]any{"mode": "DryRun", "pauseRequests": []any{"me"}}}
	held, changed := check.Held(object)
	want := map[string]any{"spec": map[string]any{"mode": "DryRun", "pauseRequests": []any{"me", "MachineHealthCheck ns/workers"}}}
	if d := cmp.Diff(want, held); d != "" || !changed {
		t.Error(changed, d)
	}
	if _, changed = check.Held(held); changed {
		t.Error("it is held again")
	}
}

// TestMade: a copy by another name was not made from the object that it names.
func TestMade(t *testing.T) {
	check := workers(t, "")
	if c, made := Made(check.PolicyName(), check.From()); !made || c.From() != check.From() {
		t.Errorf("%v %+v", made, c)
	}
	for _, x := range [][2]string{{"mine", check.From()}, {check.PolicyName(), ""}, {check.PolicyName(), "a/b/c"}} {
		if _, made := Made(x[0], x[1]); made {
			t.Errorf("%v", x)
		}
	}
}

// TestClusterAPI: a Machine without a node is reported alone, because it may have one that is not written
// into it yet, also where it has Failed; and its selector stays as it is.
func TestClusterAPI(t *testing.T) {
	check, err := Read(newer, raw(`{"clusterName":"c","selector":{},"checks":{"unhealthyNodeConditions":[{"type":"R","status":"True","timeoutSeconds":5}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := check.Policy(nil, Count{}, false, now)
	want := map[string]any{"namespace": "ns", "startupTimeout": "10m0s", "withoutNode": "Report", "selector": map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": "c"}}}
	if d := cmp.Diff(want, o["spec"].(map[string]any)["machines"]); d != "" {
		t.Error(d)
	}
}

// TestCounts: only namespaces that are named, and OpenShift's own for its kind where none is (S20: who
// may have a node fenced).
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		version, namespace string
		set                []string
		want               bool
	}{
		{openshift, "openshift-machine-api", nil, true}, {openshift, "team", nil, false}, {newer, "openshift-machine-api", nil, false}, {newer, "team", nil, false},
		{openshift, "openshift-machine-api", []string{"team"}, false}, {openshift, "team", []string{"a", "team"}, true}, {newer, "team", []string{"team"}, true}, {newer, "a", []string{"team"}, false},
	} {
		check := &Check{}
		check.APIVersion, check.Namespace = c.version, c.namespace
		if got := check.Counts(c.set); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// lease is one of 15 s.
func lease(holder string, renewed time.Time) *coordinationv1.Lease {
	at, seconds := metav1.NewMicroTime(renewed), int32(15)
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at, LeaseDurationSeconds: &seconds}}
}

// TestMoves: only a Lease that was seen to stand still is dead, whatever time its holder wrote (S30).
func TestMoves(t *testing.T) {
	long := now.Add(-24 * time.Hour)
	alive, keep := Moves("", lease("a", long), now)
	if !alive || keep == "" {
		t.Errorf("seen for the first time: %v %q", alive, keep)
	}
	alive, none := Moves("", nil, now)
	if !alive || none == "" {
		t.Errorf("it is not there at the first look: %v %q", alive, none)
	}
	for name, c := range map[string]struct {
		kept  string
		lease *coordinationv1.Lease
		after time.Duration
		alive bool
		same  bool
	}{
		"it is not there any more":     {keep, nil, time.Hour, true, false},
		"nor was it":                   {none, nil, 6*time.Minute - time.Second, true, true},
		"nor was it, at its time":      {none, nil, 6 * time.Minute, false, true},
		"it was created":               {none, lease("a", long), time.Hour, true, false},
		"before its time":              {keep, lease("a", long), 74 * time.Second, true, true},
		"at its time":                  {keep, lease("a", long), 75 * time.Second, false, true},
		"it was renewed":               {keep, lease("a", long.Add(time.Second)), time.Hour, true, false},
		"it was taken":                 {keep, lease("b", long), time.Hour, true, false},
		"the clock was set back":       {keep, lease("a", long), -time.Hour, true, false},
		"what was kept can't be read":  {"x " + keep, lease("a", long), time.Hour, true, false},
		"its holder's clock is ahead":  {keep, lease("a", now.Add(time.Hour)), time.Hour, true, false},
		"without anything in its spec": {keep, &coordinationv1.Lease{}, time.Hour, true, false},
	} {
		alive, kept := Moves(c.kept, c.lease, now.Add(c.after))
		if alive != c.alive || (kept == c.kept) != c.same {
			t.Errorf("%s: alive %v, kept %q", name, alive, kept)
		}
	}
}

// TestWhose: which objects are left to their own controllers.
func TestWhose(t *testing.T) {
	for name, c := range map[string]struct {
		version, label, status string
		age                    time.Duration
		alive                  bool
		want                   string
	}{
		"openshift, alone":                {openshift, "", `{}`, 0, false, ""},
		"openshift, its controller lives": {openshift, "", `{}`, time.Hour, true, "its own controller may be alive"},
		"cluster API":                     {newer, "", `{}`, time.Hour, false, "Cluster API's controller handles it"},
		"another value of the label":      {newer, "x", `{}`, time.Hour, false, "Cluster API's controller handles it"},
		"ours":                            {newer, "nodefence", `{}`, time.Hour, true, ""},
		"ours, and new":                   {newer, "nodefence", `{}`, time.Minute, true, "it is new"},
		"ours, after two minutes":         {newer, "nodefence", `{}`, 2 * time.Minute, true, ""},
		"ours, new, and no Lease moves":   {newer, "nodefence", `{}`, 2*time.Minute - time.Second, false, "it is new"},
		"it was observed":                 {older, "nodefence", `{"observedGeneration":1}`, time.Hour, false, "Cluster API's controller has written"},
		"it was looked at":                {newer, "nodefence", `{"conditions":[{"type":"Paused"}]}`, time.Hour, false, "Cluster API's controller has written"},
		"it was looked at, v1beta1":       {older, "nodefence", `{"v1beta2":{"conditions":[{"type":"Paused"}]}}`, time.Hour, false, "Cluster API's controller has written"},
		"our own status":                  {newer, "nodefence", `{"conditions":[{"type":"RemediationAllowed"}]}`, time.Hour, true, ""},
	} {
		check := &Check{}
		check.APIVersion, check.Labels = c.version, map[string]string{watchFilter: c.label}
		check.CreationTimestamp = metav1.NewTime(now.Add(-c.age))
		if err := json.Unmarshal([]byte(c.status), &check.Status); err != nil {
			t.Fatal(err)
		}
		got := check.Whose(Leaders[0], c.alive, now)
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

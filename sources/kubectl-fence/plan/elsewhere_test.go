package plan

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatNodefenceHasFound: where it has found something else than is found here, of the same
// ConfigMaps, this program has not found out how the node would be fenced.
func TestWhatNodefenceHasFound(t *testing.T) {
	const elsewhere = "agent_name=fence_other\nip=192.0.2.9\nplug=7\nsecret=bmc-a"
	bound := func(change ...func(*api.FenceTargetStatus)) api.FenceTarget {
		f := targetOf(api.DeviceAnswers, "")
		for _, c := range change {
			c(&f.Status)
		}
		return f
	}
	unbound := func(reason api.Reason) func(*api.FenceTargetStatus) {
		return func(st *api.FenceTargetStatus) {
			st.Devices, st.Conditions = nil, []metav1.Condition{{Type: api.Fenceable, Status: metav1.ConditionFalse, Reason: string(reason), Message: "two objects are about it"}}
		}
	}
	changed := func(st *api.FenceTargetStatus) { st.Binding = &api.TargetBinding{ConfigsVersion: "of before"} }
	const resolves, none = "nodefence has bound the node's devices, and here they can't be resolved: ", "nodefence has bound no device ("
	for name, tc := range map[string]struct {
		cluster cluster
		target  api.FenceTarget
		code    int
		// unknown and refused are how those begin.
		unknown, refused string
	}{
		"no ConfigMap, and it has a device":      {running(), bound(), failed, resolves + "no binding: ", ""},
		"no such agent, and it has a device":     {running(own(elsewhere)), bound(), failed, resolves + "ConfigMap fence-config-node-a, key fence-method-bmc, line 1: agent fence_other is not installed: ", ""},
		"no such agent, and it has found none":   {running(own(elsewhere)), bound(unbound(api.BindingInvalid)), refused, "", "ConfigMap fence-config-node-a, key fence-method-bmc, line 1: agent fence_other is not installed: "},
		"the ConfigMaps have changed since":      {running(own(elsewhere)), bound(changed), refused, "", "ConfigMap fence-config-node-a, "},
		"an earlier Node had a device":           {running(), bound(func(st *api.FenceTargetStatus) { st.NodeUID = "before" }), refused, "", "no binding: "},
		"a device, and it refuses":               {running(own(bmc)), bound(unbound(api.BindingInvalid)), failed, none + "BindingInvalid: two objects are about it), and here one is; give --adopt, ", ""},
		"a device, and it has none":              {running(own(bmc)), bound(unbound(api.NoBinding)), failed, none + "NoBinding: ", ""},
		"a device, and it refused another":       {running(own(bmc)), bound(unbound(api.BindingInvalid), changed), 0, "", ""},
		"a device, and it has not looked yet":    {running(own(bmc)), bound(unbound(api.NotCheckedYet)), 0, "", ""},
		"a device, and it has one":               {running(own(bmc)), bound(), 0, "", ""},
		"a device, and an earlier Node had none": {running(own(bmc)), bound(unbound(api.NoBinding), func(st *api.FenceTargetStatus) { st.NodeUID = "before" }), 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.cluster.watched()
			c[targetA] = tc.target
			r, code := c.report(t)
			if begins := func(got, want string) bool { return strings.HasPrefix(got, want) && (got == "") == (want == "") }; code != tc.code || !begins(r.Unknown, tc.unknown) || !begins(r.Refused, tc.refused) {
				t.Errorf("exit code %d, unknown %q, refused %q; want %d, %q, %q", code, r.Unknown, r.Refused, tc.code, tc.unknown, tc.refused)
			}
			if (r.Held() == "") != (code == 0) || tc.unknown != "" && !strings.Contains(r.Held(), tc.unknown) {
				t.Errorf("held: %q", r.Held())
			}
			if _, out, _ := c.plan(t, "--all"); tc.unknown != "" && !strings.Contains(strings.Join(strings.Fields(out), " "), "a unknown workers ") {
				t.Errorf("of all: %s", out)
			}
		})
	}
}

// TestAdopted: a template gives the node's device where nodefence adopts it, and two things that are
// said of one node are refused.
func TestAdopted(t *testing.T) {
	const kinds = "/apis/" + far.GroupVersion + "/namespaces/nodefence-system/fenceagentsremediationtemplates"
	const template = `{"items": [{"metadata": {"namespace": "nodefence-system", "name": "t", "uid": "t"}, "spec": {"template": {"spec": {"agent": "fence_ipmilan", "sharedSecretName": "forbidden",
		"sharedparameters": {"--username": "u", "--lanplus": ""}, "nodeparameters": {"--ip": {"a": "192.0.2.7"}}}}}}]}`
	if r, code := running().watched().with(kinds, template).report(t); code != refused || !strings.HasPrefix(r.Refused, "no binding: ") {
		t.Errorf("where none is adopted: exit code %d: %+v", code, r)
	}
	if r, code := running().watched().with(kinds, template).report(t, "--adopt", "far"); code != 0 || r.Device == nil || r.Device.Address != "192.0.2.7:623" || r.Now != wouldBegin {
		t.Errorf("exit code %d: %+v", code, r)
	}
	if r, code := running(own(bmc)).watched().with(kinds, template).report(t, "--adopt", "far"); code != refused || !strings.HasSuffix(r.Refused, "are both about node a; that can be read in two ways: delete one of them") {
		t.Errorf("beside a ConfigMap: exit code %d: %+v", code, r)
	}
	c := running().watched()
	c[kinds] = 403
	if r, code := c.report(t, "--adopt", "far"); code != failed || r.Refused != "" || !strings.HasPrefix(r.Unknown, "you may not read what nodefence reads: ") {
		t.Errorf("who may not read it: exit code %d: %+v", code, r)
	}
	code, _, problems := running().watched().plan(t, "--adopt", "far", "--adopt-namespaces", "elsewhere", "a")
	if code != failed || !strings.Contains(problems, "--adopt has far, and --adopt-namespaces has no namespace that --request-namespaces has too") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

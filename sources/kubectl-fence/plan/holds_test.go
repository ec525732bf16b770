package plan

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/hold/holdtest"
)

// TestPlanKnowsEachHold: the plan of a node says the first row of the table, and refuses where neither time nor the
// recovery of other nodes ends the hold. On which machine nodefence runs the plan does not know, and a reboot ends by
// itself: the plan notes it.
func TestPlanKnowsEachHold(t *testing.T) {
	knows := func(r hold.Row) bool { return r.Reason != api.OwnMachine && r.Reason != api.RebootUnderWay }
	holdtest.Try(t, knows, func(c holdtest.Case) api.Reason {
		code, out, problems := inCluster(t, c).plan(t, "-o", "json", "a")
		var r Report
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err, problems)
		}
		first := c.First(knows)
		if want := hold.Permanent(first); (r.Refused != "") != want || (code == refused) != want {
			t.Errorf("%s: exit code %d: %s; %s", c.Name(), code, r.Refused, r.Now)
		}
		reboots := c.Has(func(row hold.Row) bool { return row.Reason == api.RebootUnderWay })
		if noted := strings.Contains(strings.Join(r.Notes, "\n"), "if it fails, it has 15m0s to come back"); noted != reboots {
			t.Errorf("%s: the reboot is noted: %v: %q", c.Name(), noted, r.Notes)
		}
		words := r.Refused
		if words == "" {
			words = r.Now
		}
		for _, row := range c.Rows {
			if strings.Contains(words, string(row.Reason)+": ") {
				return row.Reason
			}
		}
		return ""
	})
}

// inCluster is the running cluster whose node a is that of the case.
func inCluster(t *testing.T, c holdtest.Case) cluster {
	t.Helper()
	all := running(own(bmc)).watched()
	nodes := all["/api/v1/nodes"].(corev1.NodeList)
	c.Node.Name, c.Node.UID = "a", nodes.Items[0].UID
	nodes.Items[0] = *c.Node
	var objects []any
	for _, p := range c.Policies {
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		for _, field := range p.NotUnderstood.Unknown {
			o["spec"].(map[string]any)[strings.TrimPrefix(field, "spec.")] = true
		}
		objects = append(objects, o)
	}
	if c.Record != nil {
		c.Record.Name, c.Record.Spec.NodeName, c.Record.Status.Decision.NodeUID = "a", "a", c.Node.UID
		all["/apis/nodefence.io/v1alpha1/nodefences"] = api.NodeFenceList{Items: []api.NodeFence{*c.Record}}
	}
	all[policies] = map[string]any{"items": objects}
	all["/api/v1/namespaces/kube-system/pods"] = http.StatusForbidden
	return all
}

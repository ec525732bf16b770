package gate

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAMissingNodeStaysExcluded: what had it left alone stood on its Node object, which is
// gone; the enrolment remembers.
func TestAMissingNodeStaysExcluded(t *testing.T) {
	const label = "the node has the label remediation.medik8s.io/exclude-from-remediation=true"
	const byLabel = `"exclude":{"selector":{"matchLabels":{"pet":"yes"}}},`
	for name, c := range map[string]struct {
		enrolled, policy string
		there            bool
		// trigger of the fence, if it is another one.
		trigger *api.Trigger
		want    string
	}{
		"by its label":                        {`,"excluded":"` + label + `"`, "", false, nil, label + "; to end that, take excluded out of ConfigMap fence-enrolled-a"},
		"by nothing":                          {"", byLabel, false, nil, ""},
		"by this policy's selector":           {`,"excluded_by":"o p"`, byLabel, false, nil, "policy p excluded it by its labels; to end that, take excluded_by out of ConfigMap fence-enrolled-a"},
		"by another's":                        {`,"excluded_by":"o pp"`, byLabel, false, nil, ""},
		"by a selector that is there no more": {`,"excluded_by":"p"`, "", false, nil, ""},
		"by its label, and is there again":    {`,"excluded":"` + label + `"`, "", true, nil, ""},
		"by its label, and is not missing":    {`,"excluded":"` + label + `"`, "", false, &api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			answers := cluster(now)
			if !c.there {
				delete(answers, "/api/v1/nodes/a")
			}
			p := `{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot",` + c.policy + `"missingNodes":{"nodeNames":["a"]}}}`
			answers[policyPath+"/p"], answers[policyPath] = p, `{"items":[`+p+`]}`
			answers["/api/v1/namespaces/own/configmaps/fence-enrolled-a"] = fmt.Sprintf(`{"metadata":{"name":"fence-enrolled-a"},"data":{"node_name":"a"%s}}`, c.enrolled)
			client, _ := apiOf(t, answers)
			g := &Gate{Client: client, Namespace: "own", Log: slog.New(slog.DiscardHandler)}
			f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}}
			f.Spec.NodeName, f.Status.FenceNumber = "a", 1
			f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: metav1.NewMicroTime(now.Add(-time.Hour))}
			if c.trigger != nil {
				f.Status.Decision.Trigger = *c.trigger
			}
			f.Status.Decision.ResolvedPolicy = api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot}, Limits: []api.ScopedLimits{{Policy: "p"}}}
			var seen observed.Look
			if err := g.Look(t.Context(), &f, &seen, 0); err != nil {
				t.Fatal(err)
			}
			if got := seen.Node.Excluded; !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("excluded: %q, want %q", got, c.want)
			}
			if st, act := fence.Decide(&f, seen, now); c.want != "" && (st.Reason != api.Excluded || act != fence.None) {
				t.Errorf("%s %s: %s", act, st.Reason, st.Message)
			}
		})
	}
}

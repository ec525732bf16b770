package remediation

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The templates of a NodeHealthCheck, and what its status says of a remediation of node a.
const (
	ours   = `{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceRequestTemplate","name":"fence"}`
	second = `{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceRequestTemplate","name":"second"}`
	others = `{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediationTemplate","name":"snr"}`

	byUs     = `{"resource":{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceRequest","name":"a-x"},"templateName":"fence"}`
	byOthers = `{"resource":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediation","name":"a"},"templateName":"snr"}`
	over     = `{"resource":{"apiVersion":"self-node-remediation.medik8s.io/v1alpha1","kind":"SelfNodeRemediation","name":"a"},"timedOut":"2026-01-01T00:00:00Z","templateName":"snr"}`
)

func singleTemplate(template string) string {
	return `{"spec":{"remediationTemplate":` + template + `}}`
}

func templatesInTurn(status string, templates ...string) string {
	var steps []string
	for _, t := range templates {
		steps = append(steps, `{"remediationTemplate":`+t+`,"timeout":"5m"}`)
	}
	return `{"spec":{"escalatingRemediations":[` + strings.Join(steps, ",") + `]},"status":{"unhealthyNodes":[` + status + `]}}`
}

func remediationsOf(node string, remediations ...string) string {
	return `{"name":"` + node + `","remediations":[` + strings.Join(remediations, ",") + `]}`
}

// TestANodeHealthCheckThatOnlyAsksUsHoldsNobodyOff: after its FenceRequest has failed a NodeHealthCheck keeps the
// Lease. A fence that a person retries does not wait for it, unless the NodeHealthCheck has another remediator for
// the node, at work or left.
func TestANodeHealthCheckThatOnlyAsksUsHoldsNobodyOff(t *testing.T) {
	hour := int32(3600)
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", nil)
	for name, c := range map[string]struct {
		check  string
		unread error
		holder string
		waits  bool
		fails  string
	}{
		"our template alone":                        {check: singleTemplate(ours)},
		"two templates of our kind":                 {check: templatesInTurn(remediationsOf("a", byUs), ours, second)},
		"nothing begun":                             {check: templatesInTurn("", ours)},
		"another's template alone":                  {check: singleTemplate(others), waits: true},
		"another's that is left":                    {check: templatesInTurn(remediationsOf("a", byUs), ours, others), waits: true},
		"another's at work":                         {check: templatesInTurn(remediationsOf("a", byUs, byOthers), ours, others), waits: true},
		"another's that has timed out":              {check: templatesInTurn(remediationsOf("a", over, byUs), others, ours)},
		"that, of a status without templates":       {check: templatesInTurn(remediationsOf("a", strings.Replace(over, `"snr"`, `""`, 1), byUs), others, ours)},
		"another's that has timed out on b":         {check: templatesInTurn(remediationsOf("b", over)+","+remediationsOf("a", byUs), others, ours), waits: true},
		"one of two of another's kind":              {check: templatesInTurn(remediationsOf("a", over, byUs), others, strings.Replace(others, `"snr"`, `"snr-2"`, 1), ours), waits: true},
		"another's at work, and taken off the list": {check: templatesInTurn(remediationsOf("a", byUs, byOthers), ours), waits: true},
		"a kind of our name in another group":       {check: singleTemplate(strings.Replace(ours, "nodefence.io", "example.com", 1)), waits: true},
		"no template":                               {check: `{"spec":{}}`, waits: true},
		"a timeout that is null":                    {check: templatesInTurn(remediationsOf("a", strings.Replace(over, `"2026-01-01T00:00:00Z"`, "null", 1)), others, ours), waits: true},
		"what can't be read as one":                 {check: `{"spec":[]}`, waits: true},
		"it is gone":                                {waits: true},
		"it may not be read":                        {check: singleTemplate(ours), unread: forbidden, waits: true},
		"nobody knows, and fails":                   {unread: errors.New("no answer"), fails: "look which remediators NodeHealthCheck x has: no answer"},
		"a holder that is none":                     {check: singleTemplate(ours), holder: "node-maintenance", waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			holder := "NodeHealthCheck-x"
			if c.holder != "" {
				holder = c.holder
			}
			w.c.held(holder, &hour)
			failed := w.c.asks("a")
			failed.Status.Conditions = []metav1.Condition{{Type: api.ConditionSucceeded, Status: metav1.ConditionFalse}}
			w.c.checksUnread = c.unread
			if c.check != "" {
				w.c.checks = map[string]string{"x": c.check}
			}
			says := w.take(t, askedFor("x", "a"))
			switch waits := strings.HasPrefix(says, holder+" works on this node"); {
			case c.fails != "":
				if says != c.fails {
					t.Errorf("got %q, want %q", says, c.fails)
				}
			case waits != c.waits || !waits && says != "":
				t.Errorf("%q", says)
			}
			if w.c.holder() != holder {
				t.Errorf("then %q has it", w.c.holder())
			}
		})
	}
}

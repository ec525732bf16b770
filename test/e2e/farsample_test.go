package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/shared/adopt/far"
)

// TestATemplatesSampleIsValidated: a template asks by statusValidationSample of how many nodes the device
// is read, and its status says which one failed and why. Once that is mended it succeeds. The devices are
// read and nothing else.
func TestATemplatesSampleIsValidated(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.remediations()
	right, wrong, outside := node(0), node(1), node(2)
	for _, n := range []string{right, wrong, outside} {
		w.byFAR(n)
	}
	must(t, w.Lab.Fault(wrong, "wrong-password"))
	must(t, w.Lab.Fault(outside, "wrong-password"))
	w.start(func(o *local.Options) { adopting(o); o.CheckEvery = 5 * time.Second })
	w.sampled(`"60%"`, right, wrong, outside) // rounded up, and by name: two of three
	w.validation("Unknown ValidationInProgress validating parameters for 2 node(s)")
	is := w.validation("False ValidationFailed parameters validation failed for 1 node(s)")
	if why := is.Status.ValidationFailed[wrong]; len(is.Status.ValidationFailed) != 1 || len(is.Status.ValidationPassed) != 0 || !strings.HasPrefix(why, "DeviceDenied: ") || !strings.Contains(why, "far-"+wrong) {
		t.Errorf("it says of those that failed: %v, and of those that passed: %v", is.Status.ValidationFailed, is.Status.ValidationPassed)
	}
	must(t, w.Lab.Fault(wrong, "none"))
	_, err := w.Fences.RequestCheck(w.ctx, wrong, "mended")
	must(t, err)
	is = w.validation("True ValidationSucceeded parameters validation succeeded")
	if len(is.Status.ValidationFailed) != 0 {
		t.Errorf("it says of those that failed: %v", is.Status.ValidationFailed)
	}
	for i := range 3 {
		w.words(node(i), "")
	}
}

// sampled applies a template about these nodes, as a person does.
func (w *world) sampled(sample string, nodes ...string) {
	w.t.Helper()
	var ips, ports, secrets []string
	for _, n := range nodes {
		host, port := w.bmc(n)
		ips, ports, secrets = append(ips, fmt.Sprintf("%s: %q", n, host)), append(ports, fmt.Sprintf("%s: %q", n, port)), append(secrets, fmt.Sprintf("%s: far-%s", n, n))
	}
	must(w.t, w.Apply(w.ctx, fmt.Sprintf(`apiVersion: %s
kind: %s
metadata: {name: all, namespace: nodefence-system}
spec:
  statusValidationSample: %s
  template: {spec: {agent: fence_ipmilan, sharedparameters: {"--lanplus": ""}, nodeparameters: {"--ip": {%s}, "--ipport": {%s}}, nodeSecretNames: {%s}}}
`, far.GroupVersion, far.TemplateKind, sample, strings.Join(ips, ", "), strings.Join(ports, ", "), strings.Join(secrets, ", "))))
}

// validation waits for the template's condition to say this.
func (w *world) validation(want string) (is *far.Template) {
	w.t.Helper()
	last := "nothing yet"
	w.until("the template to be "+want, func() (bool, error) {
		var err error
		if is, err = w.Fences.FARTemplate(w.ctx, "nodefence-system", "all"); err != nil || is == nil {
			return false, err
		}
		c := meta.FindStatusCondition(is.Status.Conditions, "FenceAgentStatusValidationSucceeded")
		if c == nil {
			return false, nil
		}
		if now := fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message); now != last {
			last = now
			w.t.Logf("the template is %s: %v", now, is.Status.ValidationFailed)
		}
		return last == want && c.ObservedGeneration == is.Generation, nil
	})
	return is
}

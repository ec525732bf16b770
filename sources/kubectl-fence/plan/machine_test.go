package plan

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestWhoMayNotReadMachines is told so, and what nodefence would do, which may read them.
func TestWhoMayNotReadMachines(t *testing.T) {
	const nodes, machine = "/api/v1/nodes", "/apis/machine.openshift.io/v1beta1/namespaces/m/machines/x"
	const node = `{"metadata": {"name": "a", "uid": "uid-a", "annotations": {"machine.openshift.io/machine": "m/x"}}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`
	goes := json.RawMessage(`{"metadata": {"name": "x", "namespace": "m", "deletionTimestamp": "2026-05-01T12:00:00Z"}, "status": {"nodeRef": {"name": "a"}}}`)
	stays := json.RawMessage(`{"metadata": {"name": "x", "namespace": "m"}, "status": {"nodeRef": {"name": "a"}}}`)
	for name, tc := range map[string]struct {
		machine   any
		now, note string
	}{
		"it may not be read":  {http.StatusForbidden, "would begin", "the node's Machine was not looked at: nobody knows whether its Machine m/x is being deleted: "},
		"it is being deleted": {goes, "would be held: NodeBeingDeleted: its Machine m/x has been in deletion since ", ""},
		"it stays":            {stays, "would begin", ""},
	} {
		c := running(own(bmc)).watched().changed(`"40%"`, `"100%"`).with(nodes, `{"items": [`+node+`]}`)
		c[machine] = tc.machine
		r, code := c.report(t)
		if code != 0 || !strings.HasPrefix(r.Now, tc.now) || strings.Join(r.Notes, "\n") == "" != (tc.note == "") || !strings.HasPrefix(strings.Join(r.Notes, "\n"), tc.note) {
			t.Errorf("%s: exit code %d: %s, notes %q", name, code, r.Now, r.Notes)
		}
	}
}

package e2e

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// anHour is a policy whose condition has to hold for longer than any test runs, and whose
// fences do not give up.
var anHour = strings.Replace(quick, "retryInterval: 1s", "retryInterval: 1s, restarts: 100", 1) + `
unhealthyConditions: [{type: Ready, status: "Unknown", duration: 1h}]
`

// TestRequestsJoin: if a node's fence still waits for its condition's duration, a request makes
// that fence continue at once. A request that comes after the power was cut leads to no second
// fence (S7). Both need the rights of any request (S20).
func TestRequestsJoin(t *testing.T) {
	w := newWorld(t, 4, anHour)
	a, p := w.asks()

	w.node("node-1", "crash")
	must(t, w.Lab.Fault("node-1", "accept-and-ignore"))
	w.until("the fence to wait for its time", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "node-1")
		return err == nil && f != nil && f.Status.Reason == api.WaitingForTime, err
	})
	a.refused("without a token, from a source that nobody believes", "node-1", "/racks/east", "1", "", api.SourceNotBelieved)
	a.refused("with a token for another event", "node-1", "/me", "2", a.token("node-1", "x", 600), api.TokenRefused)
	a.refused("made an hour ago", "node-1", "/racks/west", "3", "old", api.RequestTooOld)
	w.words("node-1", "")

	first, second := a.token("node-1", "4", 600), a.token("node-1", "5", 600)
	a.post("node-1", "/me", "4", first)
	a.joined("the request that comes while it waits", "node-1", "4")
	w.until("the power to be cut", func() (bool, error) {
		f, err := w.Fences.Fence(w.ctx, "node-1")
		return err == nil && f.Status.Power.SwitchedByUs, err
	})
	a.post("node-1", "/me", "5", second)
	a.joined("the request that comes after the power was cut", "node-1", "5")
	a.again(p, "with a token that has joined, while that fence is open", "node-1", "/else", "5", second)
	must(t, w.Lab.Fault("node-1", "none"))
	f := w.phase("node-1", api.Finished)

	if by, c := f.Status.Decision.AskedBy, f.Status.Decision.Trigger.NodeCondition; c == nil || c.Type != "Ready" || len(by) != 2 ||
		by[0].User != "system:serviceaccount:default:rack-watch" || by[0].Served || !by[1].Served {
		t.Errorf("opened for %+v, asked by %+v", f.Status.Decision.Trigger, by)
	}
	told := ""
	for _, h := range f.Status.History {
		if h.Reason == api.RequestMerged {
			told += h.Message + "\n"
		}
	}
	if strings.Count(told, "rack-watch (smoke), event 4") != 1 || strings.Count(told, "rack-watch (smoke), event 5") != 1 {
		t.Errorf("the record tells %q", told)
	}
	a.again(p, "with a token that has joined", "node-1", "/else", "4", first)
	a.again(p, "with another that has", "node-1", "/else", "5", second)
	if n := f.Status.FenceNumber; n != 1 {
		t.Errorf("there were %d fences", n)
	}
	a.nowhere(p, first)
}

// joined waits for the three places that report a request which joins a fence: the log, the
// metric and an Event on the Node.
func (a asking) joined(name, node, id string) {
	a.t.Helper()
	a.until("an Event on "+node+" that tells of "+name, func() (bool, error) {
		list, err := a.Kube.CoreV1().Events(metav1.NamespaceDefault).List(a.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + node})
		return err == nil && hasEvent(list.Items, string(api.RequestMerged), id), err
	})
	if value(string(get(a.t, a.url+"/metrics")), "nodefence_requests_merged_total") == "" {
		a.t.Errorf("%s: it is not counted", name)
	}
	for l := range bytes.Lines(a.log.Bytes()) {
		if bytes.Contains(l, []byte(`"msg":"merged"`)) && bytes.Contains(l, []byte(`"event":"`+id+`"`)) {
			return
		}
	}
	a.t.Errorf("%s: no line of the log tells", name)
}

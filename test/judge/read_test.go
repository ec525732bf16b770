package judge_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/judge"
)

// TestReadAudit: refused writes, dry runs and a line that is not whole are left out; a broken line is an error that
// names it; an impersonated user is who writes.
func TestReadAudit(t *testing.T) {
	event := func(code, more string) string {
		return `{"kind":"Event","stage":"ResponseComplete","verb":"patch","user":{"username":"lab-admin"},` + more +
			`"objectRef":{"resource":"nodes","name":"n1"},"responseStatus":{"code":` + code + `},"responseObject":{"kind":"Node","metadata":{"resourceVersion":"7"}}}`
	}
	h := &judge.History{}
	dry := strings.Replace(event("200", ""), `"verb"`, `"requestURI":"/api/v1/nodes/n1?dryRun=All","verb"`, 1)
	text := dry + "\n" + event("409", "") + "\n" + event("200", `"impersonatedUser":{"username":"ann"},`) + "\n" + event("200", "")[:40]
	if err := h.ReadAudit("audit", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if len(h.Writes) != 1 || h.Writes[0].User != "ann" || h.Writes[0].Version != 7 || h.Writes[0].Line.String() != "audit:3" {
		t.Errorf("%+v", h.Writes)
	}
	if err := h.ReadAudit("audit", strings.NewReader("{}\n{\n")); err == nil || !strings.Contains(err.Error(), "audit:2") {
		t.Errorf("a broken line: %v", err)
	}
}

// TestARestoreTakesVersionsBack: what was written before a restore stands no more after it.
func TestARestoreTakesVersionsBack(t *testing.T) {
	m := newMade(t)
	m.isolate()
	m.lines = append(m.lines, `{"kind":"Restored"}`)
	m.version = 90
	m.off()
	v := m.judge()
	if len(v.Breaches) > 0 || !strings.Contains(v.String(), "not judged: whether the Offs of n1 had a slot") {
		t.Error(v)
	}
}

// TestAVerdictNamesTheLines: a verdict names promise, node, fence, and the lines with their times.
func TestAVerdictNamesTheLines(t *testing.T) {
	m := newMade(t)
	m.isolate()
	m.claim(api.CallOff)
	m.told("off", "")
	m.told("off", "")
	v := m.judge()
	if v.Err() == nil {
		t.Fatal("no breach is found")
	}
	for _, want := range []string{": at most one call to a device of a node is in flight", "node n1, fence 1: its BMC is told off twice under one claim", "03:00:00.0", "audit:9 update nodefences/status n1", "bmc:1", "bmc:2", "judged: "} {
		if !strings.Contains(v.String(), want) {
			t.Errorf("%q is missing in\n%s", want, v)
		}
	}
}

// TestWhatIsNotJudgedIsSaid: a proof without a journal of its device is not passed over.
func TestWhatIsNotJudgedIsSaid(t *testing.T) {
	m := newMade(t)
	m.isolate()
	m.off()
	m.after(1).proveOff()
	m.bmc = nil
	if v := m.judge(); v.Err() != nil || !strings.Contains(v.String(), "not judged: the reads of n1 by driver ipmi: the device has no journal") {
		t.Error(v)
	}
}

// TestACollectionWithoutObjectsIsSaid: the log of a deletion may lack the objects.
func TestACollectionWithoutObjectsIsSaid(t *testing.T) {
	m := newMade(t)
	m.log("deletecollection", "person", "fencepolicies", "", "", nil, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}})
	m.log("deletecollection", "person", "nodefences", "", "", nil, api.NodeFenceList{TypeMeta: metav1.TypeMeta{Kind: "NodeFenceList"}})
	v := m.judge()
	if want := "not judged: a deletion of all fencepolicies by person (audit:4): the log does not have the objects"; !strings.Contains(v.String(), want) || strings.Contains(v.String(), "nodefences by") {
		t.Errorf("want %q alone in\n%s", want, v)
	}
}

// TestALongHistoryIsBounded: the oldest bodies are forgotten, but for the last version of each object. What came before
// is not judged, and what comes after is.
func TestALongHistoryIsBounded(t *testing.T) {
	m := newMade(t)
	m.isolate()
	for range 500 {
		m.after(1).claim(api.CallOff)
		m.told("off", "")
		m.endClaim()
	}
	m.after(10).told("off", "")
	h := &judge.History{KeepBytes: 100 << 10}
	m.readInto(h)
	size := 0
	for _, w := range h.Writes {
		size += len(w.Request) + len(w.Object)
	}
	v := judge.Judge(h)
	if whole := len(strings.Join(m.lines, "")); size > 200<<10 || whole < 600<<10 || !h.Begins.After(start.Add(time.Minute)) {
		t.Errorf("%d of %d bytes are kept, from %s", size, whole, h.Begins)
	}
	if strings.Contains(v.String(), "had a slot") {
		t.Errorf("the last version of the FenceLedger is forgotten:\n%s", v)
	}
	if len(v.Breaches) != 1 || v.Breaches[0].Against[len(v.Breaches[0].Against)-1].At != at(m.now-0.01) || !strings.Contains(v.String(), "not judged: commands to the BMC of n1 from before the audit log begins") {
		t.Error(v)
	}
}

// TestOnlyWhatTheRulesReadIsKept of the bodies of writes.
func TestOnlyWhatTheRulesReadIsKept(t *testing.T) {
	m := newMade(t)
	m.fence.Status.History = []api.HistoryEntry{{Message: "left out"}}
	m.ledger.Status.Census = &api.Census{}
	m.node.Status.Images = []corev1.ContainerImage{{Names: []string{"left out"}}}
	m.save("gate")
	m.write("gate", "fenceledgers/status", &m.ledger)
	m.write("person", "nodes", &m.node)
	m.log("create", "person", "configmaps", "default", "a", nil, map[string]string{"kind": "ConfigMap"})
	h := &judge.History{}
	m.readInto(h)
	for _, w := range h.Writes {
		if text := string(w.Object) + string(w.Request); strings.Contains(text, "left out") || strings.Contains(text, "census") || w.Resource == "configmaps" {
			t.Errorf("%s is kept with %s", w.Resource, text)
		}
	}
}

// TestWhatHasNoRuleIsSaid with each verdict.
func TestWhatHasNoRuleIsSaid(t *testing.T) {
	if v := newMade(t).judge(); strings.Count(v.String(), "no rule: ") < 5 {
		t.Error(v)
	}
}

package fence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// conditions say how far this fence has come. They are derived from the rest of the
// status, and nothing is decided by them. A fence that opens begins with all of them
// Unknown: what an earlier fence of the node came to says nothing of this one, so that
// `kubectl wait` waits for the fence that is open.
func (d *decision) conditions() {
	d.st.Conditions = slices.DeleteFunc(d.st.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(api.FenceConditions, c.Type)
	})
	for _, typ := range api.FenceConditions {
		d.setCondition(typ, conditionRules[typ](d))
	}
}

// says is what one condition comes to. Without a reason, the record's own reason and
// message say it.
type says struct {
	status metav1.ConditionStatus
	reason api.Reason
	words  string
}

var notYet = says{metav1.ConditionUnknown, api.NotYet, ""}

var conditionRules = map[string]func(*decision) says{
	api.ConditionAdmitted:  (*decision).saysAdmitted,
	api.ConditionIsolated:  (*decision).saysIsolated,
	api.ConditionProvenOff: (*decision).saysProvenOff,
	api.ConditionReleased:  (*decision).saysReleased,
	api.ConditionRecovered: (*decision).saysRecovered,
	api.ConditionSucceeded: (*decision).saysSucceeded,
}

// saysAdmitted: the gate said yes within all limits, or holds it, and why.
func (d *decision) saysAdmitted() says {
	switch st := &d.st; {
	case st.DecidedAt != nil || Served(st):
		return says{metav1.ConditionTrue, api.Admitted, ""}
	case st.Phase == api.Pending && d.said(api.Opened, ""):
		return notYet
	}
	return d.no()
}

// saysIsolated: the node has our taint, so that nothing new is placed on it.
func (d *decision) saysIsolated() says {
	switch st := &d.st; {
	case st.Placed.Taint:
		return says{metav1.ConditionTrue, api.Isolated, ""}
	case st.Phase == api.Pending:
		return notYet
	}
	return d.no()
}

// saysProvenOff: there is a proof on which work may be released. Once work was released on
// it, it stays said.
func (d *decision) saysProvenOff() says {
	switch st := &d.st; {
	case st.Proof != nil:
		return says{metav1.ConditionTrue, proofReasons[st.Proof.Type], d.proofWords()}
	case st.Release.StartedAt != nil && meta.IsStatusConditionTrue(st.Conditions, api.ConditionProvenOff):
		was := meta.FindStatusCondition(st.Conditions, api.ConditionProvenOff)
		return says{was.Status, api.Reason(was.Reason), was.Message}
	case st.Phase == api.Pending || st.Phase == api.Isolating:
		return notYet
	}
	return d.no()
}

var proofReasons = map[api.ProofKind]api.Reason{
	api.ProofSeenOff: api.SeenOff, api.ProofConfirmed: api.ConfirmedOff, api.ProofStorageCut: api.SeenCutOff, api.ProofKdump: api.KdumpSeen,
}

func (d *decision) proofWords() string {
	p := d.st.Proof
	if p.By != "" {
		return "confirmed by " + p.By
	}
	words := "seen"
	for i, r := range p.Reads {
		if i > 0 {
			words += " and"
		}
		words += " at " + r.At.UTC().Format(time.RFC3339)
	}
	if p.Device != "" {
		words += " by " + p.Device
	}
	return words
}

// saysReleased: the pods and volumes of the node are free to start elsewhere.
func (d *decision) saysReleased() says {
	switch st := &d.st; {
	case st.Release.TimedOut:
		return says{metav1.ConditionFalse, api.ReleaseTimedOut, d.leftBehind()}
	case st.Release.DoneAt != nil:
		return says{metav1.ConditionTrue, api.Released, ""}
	case st.Release.StartedAt == nil && !d.over() && st.Phase != api.Failed && st.Phase != api.Fenced:
		return notYet
	}
	return d.no()
}

// saysRecovered: the node is back, and nothing of ours is left on it.
func (d *decision) saysRecovered() says {
	switch st := &d.st; {
	case st.Phase == api.Finished && (st.Outcome == api.Recovered || st.Outcome == api.HealedBeforeFence):
		return says{metav1.ConditionTrue, st.Outcome, ""}
	case st.Phase.LeadsToRelease():
		return notYet
	}
	return d.no()
}

// saysSucceeded: the fence has come to the end that it was for. Unknown as long as it is
// under way.
func (d *decision) saysSucceeded() says {
	switch st := &d.st; {
	case d.over() && slices.Contains(inVain, st.Outcome), st.Phase == api.Failed, st.Awaited != nil && st.Phase != api.Releasing:
		return d.no()
	case d.over(), st.Phase == api.Fenced:
		return says{status: metav1.ConditionTrue}
	}
	return says{status: metav1.ConditionUnknown}
}

// inVain are the ends of a fence that was not carried out, though something was wrong.
var inVain = []api.Reason{api.Aborted, api.RequestExpired, api.RequestFailed, api.MachineNotDeleted}

func (d *decision) over() bool { return d.st.Phase == api.Finished }

// no is False, for the record's own reason, or the outcome of one that is over.
func (d *decision) no() says { return says{status: metav1.ConditionFalse} }

func (d *decision) setCondition(typ string, is says) {
	if is.reason == "" {
		is.reason, is.words = d.st.Reason, d.st.Message
	}
	if is.reason == "" {
		is.reason = api.Opened
	}
	meta.SetStatusCondition(&d.st.Conditions, metav1.Condition{
		Type: typ, Status: is.status, Reason: string(is.reason), Message: is.words, ObservedGeneration: d.st.ObservedGeneration,
		LastTransitionTime: metav1.NewTime(d.now.UTC().Truncate(time.Second)),
	})
}

// describe derives the words that people and other systems read.
func (d *decision) describe() {
	st := &d.st
	st.Views.NodeFencing = api.NodeFencingView{Step: st.Phase.Step(), Status: st.Phase.Status()}
	d.scheduled()
	d.conditions()
}

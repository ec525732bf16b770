package facts

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ConditionsNow say how far this fence has come. They are derived from the rest of the
// status, and nothing is decided by them. A fence that opens begins with all of them
// Unknown: what an earlier fence of the node came to says nothing of this one, so that
// `kubectl wait` waits for the fence that is open.
func (d *Facts) ConditionsNow() []metav1.Condition {
	var refuted []metav1.Condition
	all := make([]metav1.Condition, 0, len(api.FenceConditions))
	for _, c := range d.Record.Conditions {
		if slices.Contains(api.FenceConditions, c.Type) {
			all = append(all, c)
		}
		if c.Type == api.ConditionCutRefuted && d.Record.Refuted != nil {
			refuted = append(refuted, c)
		}
	}
	for _, typ := range api.FenceConditions {
		meta.SetStatusCondition(&all, d.condition(typ, conditionRules[typ](d)))
	}
	if r := d.Record.Refuted; r != nil {
		meta.SetStatusCondition(&refuted, d.condition(api.ConditionCutRefuted, says{metav1.ConditionTrue, api.CutRefuted, r.Words()}))
	}
	return append(all, refuted...)
}

// says is what one condition comes to. Without a reason, the record's own reason and
// message say it.
type says struct {
	status metav1.ConditionStatus
	reason api.Reason
	words  string
}

var notYet = says{metav1.ConditionUnknown, api.NotYet, ""}

var conditionRules = map[string]func(*Facts) says{
	api.ConditionAdmitted:  (*Facts).saysAdmitted,
	api.ConditionIsolated:  (*Facts).saysIsolated,
	api.ConditionProvenOff: (*Facts).saysProvenOff,
	api.ConditionReleased:  (*Facts).saysReleased,
	api.ConditionRecovered: (*Facts).saysRecovered,
	api.ConditionSucceeded: (*Facts).saysSucceeded,
}

// saysAdmitted: the gate said yes within all limits, or holds it, and why.
func (d *Facts) saysAdmitted() says {
	switch st := d.Record; {
	case st.DecidedAt != nil || Served(st):
		return says{metav1.ConditionTrue, api.Admitted, ""}
	case st.Phase == api.Pending && d.LastReasonIs(api.Opened, ""):
		return notYet
	}
	return d.no()
}

// saysIsolated: the node has our taint, so that nothing new is placed on it.
func (d *Facts) saysIsolated() says {
	switch st := d.Record; {
	case st.Placed.Taint:
		return says{metav1.ConditionTrue, api.Isolated, ""}
	case st.Phase == api.Pending:
		return notYet
	}
	return d.no()
}

// saysProvenOff: there is a proof on which work may be released. Once work was released on
// it, it stays said.
func (d *Facts) saysProvenOff() says {
	switch st := d.Record; {
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

func (d *Facts) proofWords() string {
	p := d.Record.Proof
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
func (d *Facts) saysReleased() says {
	switch st := d.Record; {
	case st.Release.TimedOut:
		return says{metav1.ConditionFalse, api.ReleaseTimedOut, d.LeftBehind()}
	case st.Release.DoneAt != nil:
		return says{metav1.ConditionTrue, api.Released, ""}
	case st.Release.StartedAt == nil && !d.over() && st.Phase != api.Failed && st.Phase != api.Fenced:
		return notYet
	}
	return d.no()
}

// saysRecovered: the node is back, and nothing of ours is left on it.
func (d *Facts) saysRecovered() says {
	switch st := d.Record; {
	case st.Phase == api.Finished && (st.Outcome == api.Recovered || st.Outcome == api.CutRefuted || st.Outcome == api.HealedBeforeFence):
		return says{metav1.ConditionTrue, st.Outcome, ""}
	case st.Phase.LeadsToRelease():
		return notYet
	}
	return d.no()
}

// saysSucceeded: the fence has come to the end that it was for. Unknown as long as it is
// under way.
func (d *Facts) saysSucceeded() says {
	switch st := d.Record; {
	case d.over() && slices.Contains(inVain, st.Outcome), st.Phase == api.Failed, st.Awaited != nil && st.Phase != api.Releasing:
		return d.no()
	case d.over(), st.Phase == api.Fenced:
		return says{status: metav1.ConditionTrue}
	}
	return says{status: metav1.ConditionUnknown}
}

// inVain are the ends of a fence that was not carried out, though something was wrong, and of a fence whose cut was none.
var inVain = []api.Reason{api.Aborted, api.RequestExpired, api.RequestFailed, api.MachineNotDeleted, api.DrainTimedOut, api.CutRefuted}

func (d *Facts) over() bool { return d.Record.Phase == api.Finished }

// no is False, for the record's own reason, or the outcome of one that is over.
func (d *Facts) no() says { return says{status: metav1.ConditionFalse} }

func (d *Facts) condition(typ string, is says) metav1.Condition {
	reason, words := is.reason, is.words
	if reason == "" {
		reason, words = d.Record.Reason, d.Record.Message
	}
	if reason == "" {
		reason = api.Opened
	}
	return metav1.Condition{
		Type: typ, Status: is.status, Reason: string(reason), Message: words, ObservedGeneration: d.Record.ObservedGeneration,
		LastTransitionTime: metav1.NewTime(d.Now.UTC().Truncate(time.Second)),
	}
}

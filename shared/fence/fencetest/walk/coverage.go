package walk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/hold"
)

// elsewhere are the reasons that Whole never meets with, by what gives them, or what test
// has them. The holds of package hold are not listed: a test tries each row at the gate.
var elsewhere = []struct {
	why     string
	reasons []api.Reason
}{
	{"a fence has them before anything else, whatever is seen (TestNeverBegins and its like)", []api.Reason{
		api.BindingInvalid, api.NotApproved}},
	{"walked by TestSecondWalk", []api.Reason{api.NodeFencedTooOften}},
	{"walked by TestJoinsWalk", []api.Reason{api.RequestMerged}},
	{"package admission's, for which TooManyUnhealthy stands here", []api.Reason{
		api.BudgetExhausted, api.EtcdQuorum, api.LeasePictureOld, api.MostLeasesStale, api.SelectorInvalid, api.StormCoolDown,
		api.TooManyChecks, api.TooManyConcurrent, api.TooManyInATime}},
	{"a device's or its binding's, for which any error stands here", []api.Reason{api.SecretNotForThisHost}},
	{"of conditions, at which the walk does not look", []api.Reason{api.NotYet}},
	{"of events and requests that open no fence, of pods, or told beside a fence (functions gate, resync, cleanup and isolate)", []api.Reason{
		api.DeviceBeingRead, api.Healthy, api.MachineFailed, api.NoPolicy, api.NoSuchNode, api.NodeMissing, api.NodeProblem, api.NodeCordoned, api.NotAllowed, api.PodHeld, api.PodMoved,
		api.Reported, api.RequestServedAlready, api.RequestTooOld, api.SourceNotBelieved, api.Starting, api.TokenRefused}},
	{"of another program that works on the node (package remediation)", []api.Reason{api.AnotherRemediator}},
	{"of a FenceRequest (package ask)", []api.Reason{
		api.NamesDiffer, api.RemediationFinishedNodeNotFound, api.RemediationFinishedSuccessfully, api.RemediationInterruptedByNHC, api.RemediationStarted}},
	{"of a FencePolicy, a FenceBudget or the FenceLedger (package admission)", []api.Reason{
		api.AllPresent, api.EtcdListDiffers, api.NothingHoldsAll, api.SufficientNodes, api.Understood, api.WithinLimits}},
	{"of a FenceTarget (package readiness)", []api.Reason{
		api.DeviceAnswers, api.DeviceDenied, api.DeviceUnreachable, api.MachineUnknown, api.ManualOnly, api.NoBinding, api.NoIdentity,
		api.NotCheckedYet}},
	{"of the report of what was lost, and of what can't be written (package report)", []api.Reason{api.EventLost, api.RecordNotSaved}},
	{"of a fence whose device refuses the account (TestAWrittenSecretEndsThePause)", []api.Reason{api.CredentialsChanged}},
}

// Coverage says what the walk has come to, and what no walk comes to, given all reasons and
// actions that there are.
func (r *Result) Coverage(reasons []api.Reason, actions []fence.Action) string {
	return fmt.Sprintf("%d states, %d decisions, %d kinds of transition\n\n%s\n%s\n%s\n%s\n%s", r.States, r.Decisions, len(r.Transitions),
		r.byPhase(), r.byAction(actions), r.byReason(reasons), abstracted, uncovered)
}

func (r *Result) byPhase() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %10s %12s\n", "phase", "states", "decisions")
	known := 0
	for _, p := range slices.Sorted(maps.Keys(r.states)) {
		known += r.states[p]
		fmt.Fprintf(&b, "%-20s %10d %12d\n", cmp.Or(p, "not opened"), r.states[p], r.met.decisions[p])
	}
	if known < r.States {
		fmt.Fprintf(&b, "%-20s %10d\n", "restored kinds", r.States-known)
	}
	return b.String()
}

func (r *Result) byAction(actions []fence.Action) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %10s\n", "action", "decisions")
	idle := r.Decisions
	for _, a := range actions {
		if idle -= r.met.actions[a]; a != fence.None {
			fmt.Fprintf(&b, "%-20s %10d\n", a, r.met.actions[a])
		}
	}
	fmt.Fprintf(&b, "%-20s %10d\n", "none", idle)
	return b.String()
}

func (r *Result) byReason(reasons []api.Reason) string {
	var b strings.Builder
	names := func(all []api.Reason) string {
		var text []string
		for _, why := range all {
			text = append(text, string(why))
		}
		slices.Sort(text)
		return strings.Join(text, " ")
	}
	met := slices.DeleteFunc(slices.Clone(reasons), func(why api.Reason) bool { return !r.met.reasons[why] })
	fmt.Fprintf(&b, "%d of %d reasons were met:\n  %s\nnot met:\n", len(met), len(reasons), names(met))
	var held []api.Reason
	for _, h := range hold.Rows() {
		if !r.met.reasons[h.Reason] {
			held = append(held, h.Reason)
		}
	}
	fmt.Fprintf(&b, "- holds by the policies or the node (TestTheGateKnowsEachHold)\n  %s\n", names(held))
	for _, e := range elsewhere {
		fmt.Fprintf(&b, "- %s\n  %s\n", e.why, names(e.reasons))
	}
	return b.String()
}

// Unexplained are the reasons that the walk did not meet with though nothing says why, those
// that it met with though something says why not, and the actions that nothing decided on.
func (r *Result) Unexplained(reasons []api.Reason, actions []fence.Action) (wrong []string) {
	not := map[api.Reason]bool{}
	for _, e := range elsewhere {
		for _, why := range e.reasons {
			not[why] = true
		}
	}
	held := map[api.Reason]bool{}
	for _, h := range hold.Rows() {
		held[h.Reason] = true
	}
	for _, why := range reasons {
		switch met := r.met.reasons[why]; {
		case !met && !not[why] && !held[why]:
			wrong = append(wrong, fmt.Sprintf("the walk never met with %s, and coverage.go does not say why", why))
		case met && not[why]:
			wrong = append(wrong, fmt.Sprintf("the walk met with %s, and coverage.go says that it does not", why))
		}
	}
	for _, a := range actions {
		if a != fence.None && r.met.actions[a] == 0 {
			wrong = append(wrong, fmt.Sprintf("nothing decided on %s", a))
		}
	}
	return wrong
}

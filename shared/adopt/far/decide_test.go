package far

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// seen is a new object about node a, with everything in order, after some changes.
func seen(changes ...func(*Seen)) Seen {
	o := &Object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "12345678-x", Generation: 1}, Spec: bmc(nil)}
	s := Seen{Object: o, Node: "a", There: true, Now: now}
	for _, c := range changes {
		c(&s)
	}
	return s
}

func held(s *Seen) {
	s.Object.Finalizers = []string{Finalizer}
	s.Object.Annotations = map[string]string{KeptNode: "a"}
}
func tainted(s *Seen) { s.Tainted = true }
func deleted(s *Seen) {
	at := metav1.NewTime(now)
	s.Object.DeletionTimestamp = &at
}
func givenUp(s *Seen) {
	metav1.SetMetaDataAnnotation(&s.Object.ObjectMeta, api.TimedOutAnnotation, "x")
}
func passedOn(s *Seen) {
	metav1.SetMetaDataAnnotation(&s.Request.ObjectMeta, api.TimedOutAnnotation, "x")
}
func gone(s *Seen) { s.There, s.Tainted = false, false }
func live(s *Seen) { s.Live = "Lease f/cb305759.medik8s.io" }

// at has the object where it was after some reasons.
func at(all ...reason) func(*Seen) {
	return func(s *Seen) {
		held(s)
		tainted(s)
		for _, r := range all {
			s.Object.Status = s.Object.Status.with(r, "words", 1, now.Add(-time.Minute))
		}
	}
}

// request has a FenceRequest with these conditions: Processing, FenceActionSucceeded, Succeeded.
func request(is string, why api.Reason) func(*Seen) {
	return func(s *Seen) {
		s.Request = &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: RequestName(s.Object, "a"), UID: "r", OwnerReferences: []metav1.OwnerReference{{UID: s.Object.UID}}}}
		status := map[byte]metav1.ConditionStatus{'T': yes, 'F': no, 'U': unknown}
		for i, typ := range []string{api.ConditionProcessing, api.ConditionFenceActionSucceeded, api.ConditionSucceeded} {
			if is != "" {
				meta.SetStatusCondition(&s.Request.Status.Conditions, metav1.Condition{Type: typ, Status: status[is[i]], Reason: string(why), Message: "so"})
			}
		}
	}
}

// record has the node's record, with a fence that answers to the FenceRequest.
func record(s *Seen) {
	s.Fence = &api.NodeFence{ObjectMeta: metav1.ObjectMeta{UID: "f"}}
	s.Fence.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Pending, Decision: api.Decision{AskedBy: []api.AskedBy{{ID: "r", Source: sourceOf(s.Object, "a")}}}}
	if s.Request != nil {
		s.Request.Status.NodeFence = api.NodeFenceReference{Name: "a", UID: "f", FenceNumber: 1}
	}
}

func past(s *Seen) {
	record(s)
	s.Fence.Status.Past = []api.PastFence{{AskedBy: []api.PastAskedBy{{ID: "r", Source: sourceOf(s.Object, "a")}}}}
	s.Fence.Status.Decision.AskedBy = nil
}

// words are a step in words: what is done, the conditions of each status, and the Events.
func (s Step) words() string {
	var all []string
	add := func(is bool, word string) {
		if is {
			all = append(all, word)
		}
	}
	add(s.Hold, "hold")
	add(s.TimeOut, "time out")
	add(s.Withdraw, "withdraw")
	for _, st := range s.Statuses {
		all = append(all, stands(st))
	}
	for _, e := range s.Events {
		kind := ""
		if e.Warning {
			kind = "!"
		}
		all = append(all, kind+e.Reason)
	}
	add(s.Mark, "mark")
	add(s.Unmark, "unmark")
	add(s.Ask, "ask")
	add(s.LetGo, "let go")
	return strings.Join(all, ", ")
}

// stands are the conditions with their reasons.
func stands(st Status) string {
	words := ""
	var reasons []string
	for _, typ := range []string{api.ConditionProcessing, ConditionAgentSucceeded, api.ConditionSucceeded} {
		c := meta.FindStatusCondition(st.Conditions, typ)
		words += string(c.Status)[:1]
		if !slices.Contains(reasons, c.Reason) {
			reasons = append(reasons, c.Reason)
		}
	}
	return words + " " + strings.Join(reasons, "+")
}

// TestDecide: what comes next for an object.
func TestDecide(t *testing.T) {
	const begins, failed = "TUU RemediationStarted", "FFF FenceAgentFailed"
	for name, c := range map[string]struct {
		seen Seen
		want string
	}{
		"new":                                 {seen(), "hold, " + begins + ", RemediationStarted, mark, ask"},
		"the process died after that":         {seen(at(started), func(s *Seen) { s.Tainted = false }), "mark, ask"},
		"asked":                               {seen(at(started), request("", "")), ""},
		"its fence waits":                     {seen(at(started), request("TUU", api.RemediationStarted), record), ""},
		"there is a proof":                    {seen(at(started), request("TTU", api.RemediationStarted)), "TTU RemediationStarted+FenceAgentSucceeded"},
		"the proof is said":                   {seen(at(started, agentSucceeded), request("TTU", api.RemediationStarted)), ""},
		"released":                            {seen(at(started, agentSucceeded), request("FTT", api.RemediationFinishedSuccessfully)), "FTT RemediationFinishedSuccessfully+FenceAgentSucceeded, RemediationFinished"},
		"released between two looks":          {seen(at(started), request("FTT", api.RemediationFinishedSuccessfully)), "TTU RemediationStarted+FenceAgentSucceeded, FTT RemediationFinishedSuccessfully+FenceAgentSucceeded, RemediationFinished"},
		"released before the first":           {seen(held, request("FTT", api.RemediationFinishedSuccessfully)), begins + ", TTU RemediationStarted+FenceAgentSucceeded, FTT RemediationFinishedSuccessfully+FenceAgentSucceeded, RemediationStarted, RemediationFinished, mark"},
		"done without a proof (S2)":           {seen(at(started), request("FFT", api.RemediationFinishedSuccessfully)), failed + ", !RemediationStopped"},
		"refused by the gate":                 {seen(at(started), request("FFF", api.NoPolicy)), failed + ", !RemediationStopped"},
		"the device is silent":                {seen(at(started), request("FFF", api.DeviceFailed)), failed + ", !RemediationStopped"},
		"the machine is not seen off":         {seen(at(started), request("FFF", api.PowerOffNotSeen)), "FFF FenceAgentTimedOut, !RemediationStopped"},
		"the release took too long":           {seen(at(started), request("FTF", api.ReleaseTimedOut)), "FFF FenceAgentTimedOut, !RemediationStopped"},
		"the node went meanwhile":             {seen(at(started), gone, request("FFF", api.RemediationFinishedNodeNotFound)), "FFF RemediationFinishedNodeNotFound, !RemediationStopped"},
		"no node":                             {seen(gone), "FFF RemediationFinishedNodeNotFound, !RemediationCannotStart"},
		"misnamed":                            {seen(func(s *Seen) { s.Misnamed = errors.New("x") }), "FFF RemediationFinishedNodeNotFound, !RemediationCannotStart"},
		"about another node now":              {seen(at(started), request("TUU", api.RemediationStarted), func(s *Seen) { s.Misnamed = errors.New("x") }), "withdraw, FFF RemediationFinishedNodeNotFound, !RemediationStopped"},
		"held by that program before":         {seen(at(started), request("", ""), func(s *Seen) { s.Object.Annotations = nil }), "hold"},
		"the Node is newer":                   {seen(func(s *Seen) { s.Newer = true }), "FFF RemediationFinishedNodeNotFound, !RemediationCannotStart"},
		"it is, and is being fenced":          {seen(at(started), request("TUU", api.RemediationStarted), func(s *Seen) { s.Newer = true }), ""},
		"excluded":                            {seen(func(s *Seen) { s.Excluded = true }), failed + ", !RemediationCannotStart"},
		"a fault of the spec":                 {seen(func(s *Seen) { s.Object.Spec.Agent = "x" }), failed + ", !RemediationCannotStart"},
		"no policy":                           {seen(func(s *Seen) { s.Refused = errors.New("no policy") }), failed + ", !RemediationCannotStart"},
		"its FenceRequest was deleted":        {seen(at(started), record), failed + ", !RemediationStopped"},
		"and its fence is long over":          {seen(at(started), past), failed + ", !RemediationStopped"},
		"a FenceRequest of somebody else":     {seen(request("FTT", api.RemediationFinishedSuccessfully), func(s *Seen) { s.Request.OwnerReferences = nil }), failed + ", !RemediationCannotStart"},
		"deleted beside one of somebody else": {seen(at(started), deleted, request("TUU", api.RemediationStarted), func(s *Seen) { s.Request.OwnerReferences = nil }), "unmark, let go"},
		"given up":                            {seen(at(started), givenUp, request("TUU", api.RemediationStarted)), "time out, FFF RemediationInterruptedByNHC, !RemediationStopped"},
		"given up at once":                    {seen(givenUp), "FFF RemediationInterruptedByNHC, !RemediationCannotStart"},
		"given up after the proof":            {seen(at(started, agentSucceeded), givenUp, request("TTU", api.RemediationStarted)), "time out, FFF RemediationInterruptedByNHC, !RemediationStopped"},
		"ended, and given up":                 {seen(at(started, agentSucceeded, finished), givenUp), ""},
		"failed, and given up":                {seen(at(started, agentFailed), givenUp, request("FFF", api.DeviceFailed), record), "time out"},
		"failed, given up, and passed on":     {seen(at(started, agentFailed), givenUp, request("FFF", api.DeviceFailed), passedOn), ""},
		"failed, its FenceRequest is gone":    {seen(at(started, agentFailed), givenUp, record), ""},
		"failed, beside one of somebody else": {seen(at(started, agentFailed), givenUp, request("FFF", api.DeviceFailed), func(s *Seen) { s.Request.OwnerReferences = nil }), ""},
		"failed":                              {seen(at(started, agentFailed), request("FFF", api.DeviceFailed), record), ""},
		"ended, and the taint is away":        {seen(at(started, agentSucceeded, finished), func(s *Seen) { s.Tainted = false }), "mark"},
		"ended and never begun":               {seen(func(s *Seen) { s.Object.Status = s.Object.Status.with(agentFailed, "x", 1, now) }), ""},

		"deleted":                             {seen(at(started), deleted, request("TUU", api.RemediationStarted)), "withdraw, unmark"},
		"deleted, and its request goes":       {seen(held, deleted, request("TTU", api.RemediationStarted), func(s *Seen) { s.Request.DeletionTimestamp = s.Object.DeletionTimestamp }), ""},
		"deleted, and its request is gone":    {seen(at(started), deleted), "unmark, let go"},
		"deleted, and its node is gone":       {seen(at(started), deleted, gone), "let go"},
		"deleted, and another is about it":    {seen(at(started), deleted, func(s *Seen) { s.Beside = true }), "let go"},
		"deleted, and held by somebody else":  {seen(deleted, tainted), ""},
		"that program runs":                   {seen(live), "RemediationCannotStart"},
		"that program runs, and it has ended": {seen(at(started, agentSucceeded, finished), live), ""},
		"that program runs, and it goes":      {seen(at(started), deleted, live), ""},
		"that program came back":              {seen(at(started), live, request("TUU", api.RemediationStarted)), "withdraw, RemediationCannotStart"},
		"that program came back too late":     {seen(at(started), live, request("FTT", api.RemediationFinishedSuccessfully)), "RemediationCannotStart"},
		"taken over after its agent ran (S2)": {seen(at(started, agentSucceeded)), "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			step := Decide(c.seen)
			if got := step.words(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, st := range step.Statuses {
				if st.LastUpdateTime == nil || !st.LastUpdateTime.Equal(&metav1.Time{Time: now}) {
					t.Errorf("lastUpdateTime is %v", st.LastUpdateTime)
				}
			}
		})
	}
}

// TestAFaultIsSaidInConditionAndEvent: what the fence says of the object and its field, as of a key that
// Secret and spec both have, which is seen once the Secret is read for the first call.
func TestAFaultIsSaidInConditionAndEvent(t *testing.T) {
	const fault = "Secret n/s, key --password: it is given in spec.sharedparameters[--password] of FenceAgentsRemediation n/a as well; delete one of them"
	step := Decide(seen(at(started), request("FFF", api.DeviceFailed), record, func(s *Seen) {
		for i := range s.Request.Status.Conditions {
			s.Request.Status.Conditions[i].Message = "Failed, DeviceFailed: " + fault
		}
	}))
	if len(step.Statuses) != 1 || len(step.Events) != 1 {
		t.Fatalf("%+v", step)
	}
	for _, typ := range []string{api.ConditionProcessing, ConditionAgentSucceeded, api.ConditionSucceeded} {
		if c := meta.FindStatusCondition(step.Statuses[0].Conditions, typ); c.Status != no || c.Reason != "FenceAgentFailed" || !strings.Contains(c.Message, fault) {
			t.Errorf("%+v", c)
		}
	}
	if e := step.Events[0]; !e.Warning || !strings.Contains(e.Message, fault) {
		t.Errorf("%+v", e)
	}
}

// TestAConditionKeepsItsTime unless its status changes, as users of those conditions expect.
func TestAConditionKeepsItsTime(t *testing.T) {
	st := Status{}.with(started, "a", 1, now).with(agentSucceeded, "b", 1, now.Add(time.Minute))
	c := meta.FindStatusCondition(st.Conditions, api.ConditionProcessing)
	if !c.LastTransitionTime.Time.Equal(now) || c.Message != "a" || !st.LastUpdateTime.Time.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v, %v", c, st.LastUpdateTime)
	}
	same := st.with(agentSucceeded, "c", 1, now.Add(time.Hour))
	if fmt.Sprint(same) != fmt.Sprint(st) {
		t.Errorf("%v became %v", st, same)
	}
}

// TestOneRequest: an object makes one FenceRequest, of a name that is about its node.
func TestOneRequest(t *testing.T) {
	o := &Object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x", UID: "12345678-9", Annotations: map[string]string{api.NodeNameAnnotation: "a.b"}}}
	node, err := Node(o)
	if err != nil || node != "a.b" {
		t.Fatal(node, err)
	}
	for _, node := range []string{node, strings.Repeat("a", 253)} {
		r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: RequestName(o, node)}, Spec: api.FenceRequestSpec{NodeName: node}}
		if is, err := ask.Node(r); err != nil || is != node {
			t.Errorf("%s: %s, %v", r.Name, is, err)
		}
	}
	o.Annotations[api.NodeNameAnnotation] = "../x"
	if _, err := Node(o); err == nil || !strings.Contains(err.Error(), `"../x" is not a node's name`) {
		t.Error(err)
	}
}

// TestRelease: an object's strategy is one of those that the policy has.
func TestRelease(t *testing.T) {
	for _, c := range []struct {
		wants string
		has   api.ReleaseStrategy
		want  string
	}{
		{ResourceDeletion, api.ReleaseTaintAndDelete, "ResourceDeletion"},
		{OutOfServiceTaint, api.ReleaseTaintAndDelete, "OutOfServiceTaint"},
		{OutOfServiceTaint, api.ReleaseOutOfServiceTaint, "OutOfServiceTaint"},
		{ResourceDeletion, api.ReleaseResourceDeletion, "ResourceDeletion"},
		{ResourceDeletion, api.ReleaseNone, "spec.remediationStrategy: it is ResourceDeletion, and FencePolicy p has release.strategy: None, which is another: change one of them"},
		{OutOfServiceTaint, api.ReleaseResourceDeletion, "spec.remediationStrategy: it is OutOfServiceTaint, and FencePolicy p has release.strategy: ResourceDeletion, which is another: change one of them"},
	} {
		p := api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}}
		p.Settings.Release.Strategy = c.has
		got, err := Release(c.wants, p)
		words := string(got)
		if err != nil {
			words = err.Error()
		}
		if words != c.want {
			t.Errorf("%s under %s: %s", c.wants, c.has, words)
		}
	}
}

// TestATimeoutThatNoCallMayTakeIsSaid, by the setting that bounds a call.
func TestATimeoutThatNoCallMayTakeIsSaid(t *testing.T) {
	const rest = " at most (NODEFENCE_DEVICE_CALL_TIMEOUT), and the rest is for the machine to be seen off"
	for name, c := range map[string]struct {
		timeout string
		call    time.Duration
		want    string
	}{
		"as it is unless set":           {"", 0, "; spec.timeout is 1m: one call to the device takes 20s" + rest},
		"half a minute":                 {"30s", 0, "; spec.timeout is 30s: one call to the device takes 20s" + rest},
		"as long as a call":             {"20s", 0, ""},
		"calls of a minute":             {"", time.Minute, ""},
		"longer than calls of a minute": {"90s", time.Minute, "; spec.timeout is 1m30s: one call to the device takes 1m" + rest},
		"shorter calls than are usual":  {"20s", 10 * time.Second, "; spec.timeout is 20s: one call to the device takes 10s" + rest},
	} {
		s := seen(func(s *Seen) { s.Object.Spec.Timeout, s.DeviceCall = c.timeout, c.call })
		if got := s.bounds(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestBegun: an object whose own program had begun, by its conditions, asks for a machine that is on in the end; and
// it says so as long as it asks, also once nodefence has taken it up (S12).
func TestBegun(t *testing.T) {
	theirs := func(action metav1.ConditionStatus) func(*Seen) {
		return func(s *Seen) {
			s.Object.Finalizers = []string{Finalizer}
			for typ, is := range map[string]metav1.ConditionStatus{api.ConditionProcessing: yes, ConditionAgentSucceeded: action, api.ConditionSucceeded: unknown} {
				meta.SetStatusCondition(&s.Object.Status.Conditions, metav1.Condition{Type: typ, Status: is, Reason: string(started), Message: "the node was found, and a finalizer was set"})
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*Seen)
		want   bool
	}{
		"a new object":              {func(*Seen) {}, false},
		"its program had begun":     {theirs(unknown), true},
		"its agent had succeeded":   {theirs(yes), true},
		"its program had ended":     {at(started, finished), false},
		"held, without a condition": {held, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(c.change)
			if got := Begun(s.Object); got != c.want {
				t.Errorf("begun: %v", got)
			}
			if Ended(s.Object) {
				return
			}
			for range 2 { // each look of nodefence
				step := Decide(s)
				for _, st := range step.Statuses {
					s.Object.Status = st
				}
				held(&s)
				if got := Begun(s.Object); got != c.want {
					t.Errorf("begun, once nodefence has written %+v: %v", step.Statuses, got)
				}
			}
		})
	}
}

package ask

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// one is a FenceRequest that nodefence holds.
func one(change func(*api.FenceRequest)) *api.FenceRequest {
	r := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "u", Generation: 1, Finalizers: []string{api.RequestFinalizer}}}
	change(r)
	return r
}

func asIs(*api.FenceRequest)    {}
func fresh(r *api.FenceRequest) { r.Finalizers = nil }
func deleted(r *api.FenceRequest) {
	at := metav1.NewTime(now.Add(-time.Minute))
	r.DeletionTimestamp = &at
}
func longDeleted(r *api.FenceRequest) {
	at := metav1.NewTime(now.Add(-heldAtMost))
	r.DeletionTimestamp = &at
}
func timedOut(r *api.FenceRequest) { r.Annotations = map[string]string{api.TimedOutAnnotation: "x"} }

func ended(r *api.FenceRequest) { r.Status = Refused(r, api.NoPolicy, "no", now) }

func noted(number int64) func(*api.FenceRequest) {
	return func(r *api.FenceRequest) {
		r.Status.NodeFence = api.NodeFenceReference{Name: "a", UID: "f", FenceNumber: number}
	}
}

func both(changes ...func(*api.FenceRequest)) func(*api.FenceRequest) {
	return func(r *api.FenceRequest) {
		for _, c := range changes {
			c(r)
		}
	}
}

// by names those who asked: "u" is the request, and one that ends with '!' came after the cut.
func by(all ...string) (asked []api.AskedBy) {
	for _, id := range all {
		source := "/fencerequests/n/a"
		id, late := strings.CutSuffix(id, "!")
		if id != "u" {
			source = "/me"
		}
		asked = append(asked, api.AskedBy{ID: id, Source: source, Served: late})
	}
	return asked
}

// record is a node's record, with its second fence in that phase.
func record(phase api.Phase, asked []api.AskedBy, change func(*api.NodeFence)) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}}
	f.Status = api.NodeFenceStatus{FenceNumber: 2, Phase: phase, Reason: api.WaitingForApproval, WaitsFor: api.WaitsForApproval, Message: "waits", Decision: api.Decision{AskedBy: asked}}
	if change != nil {
		change(f)
	}
	return f
}

// TestSettled: once a request that was given up has ended, it is looked at only while a fence of its may have to
// be ended, or the record to be marked.
func TestSettled(t *testing.T) {
	over := func(f *api.NodeFence) { f.Annotations = map[string]string{api.WithdrawnAnnotation: "u"} }
	past := func(f *api.NodeFence) {
		f.Status.Past = []api.PastFence{{FenceNumber: 1, AskedBy: []api.PastAskedBy{{ID: "u", Source: "/fencerequests/n/a"}}}}
	}
	aborted := func(f *api.NodeFence) { f.Spec.Requests.Abort = &api.AbortRequest{} }
	given := both(ended, timedOut)
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		fence   *api.NodeFence
		want    bool
	}{
		"it has not ended":                     {timedOut, nil, false},
		"it is deleted, and held":              {both(ended, deleted), nil, false},
		"it has ended":                         {ended, record(api.Pending, by("u"), nil), true},
		"given up, and there is no record":     {given, nil, true},
		"and the record is not marked":         {given, record(api.Finished, nil, nil), false},
		"and it is":                            {given, record(api.Pending, nil, over), true},
		"its fence was given up":               {given, record(api.Failed, by("u"), nil), false},
		"and others ask, who may be withdrawn": {given, record(api.Failed, by("u", "v"), nil), false},
		"and is aborted":                       {given, record(api.Failed, by("u"), aborted), true},
		"and has cut":                          {given, record(api.Failed, by("u"), cut), false},
		"that, and is marked":                  {given, record(api.Failed, by("u"), alsoMarked(cut)), true},
		"its fence is over":                    {given, record(api.Finished, by("u"), nil), true},
		"another fence of the node is open":    {given, record(api.Fencing, by("v"), past), true},
		"its record is gone":                   {both(given, noted(2)), nil, true},
		"its fence was begun again":            {both(given, noted(2)), record(api.Pending, by("u"), nil), false},
	} {
		if got := Settled(one(c.request), c.fence); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func stamp() *api.Time { at := metav1.NewMicroTime(now); return &at }

func cut(f *api.NodeFence)    { f.Status.Power.SwitchedByUs, f.Status.CutOrReleased = true, true }
func proven(f *api.NodeFence) { cut(f); f.Status.Proof = &api.Proof{} }
func released(f *api.NodeFence) {
	proven(f)
	f.Status.Release.StartedAt, f.Status.Release.DoneAt = stamp(), stamp()
}
func leftOver(f *api.NodeFence) { released(f); f.Status.Release.TimedOut = true }
func marked(f *api.NodeFence)   { f.Annotations = map[string]string{api.WithdrawnAnnotation: "u"} }
func skips(f *api.NodeFence)    { f.Status.Decision.AskedBy[0].Drain = api.DrainSkip }
func askerMarked(f *api.NodeFence) {
	f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "u"}
}

// alsoMarked is a record that says already that the request was withdrawn while its fence goes on.
func alsoMarked(change func(*api.NodeFence)) func(*api.NodeFence) {
	return func(f *api.NodeFence) { change(f); askerMarked(f) }
}
func outcome(why api.Reason, more func(*api.NodeFence)) func(*api.NodeFence) {
	return func(f *api.NodeFence) {
		more(f)
		f.Status.Outcome = why
	}
}
func nothing(*api.NodeFence) {}

func past(why api.Reason, cuts int32, asked ...string) func(*api.NodeFence) {
	return func(f *api.NodeFence) {
		for _, a := range by(asked...) {
			f.Status.Past = append(f.Status.Past, api.PastFence{FenceNumber: 1, Outcome: why, Cuts: cuts, AskedBy: []api.PastAskedBy{{ID: a.ID, Source: a.Source, Served: a.Served}}})
		}
	}
}

// words is a step in words: what is done, and the conditions that are written.
func (s Step) words() string {
	var all []string
	for name, is := range map[string]bool{"1 mark": s.MarkWithdrawn, "1 mark asker": s.MarkAsker, "2 abort": s.Abort != "", "3 hold": s.Hold, "5 let go": s.LetGo, "6 ask": s.Ask} {
		if is {
			all = append(all, name)
		}
	}
	if st := s.Status; st != nil {
		words := "4 "
		for _, typ := range []string{api.ConditionProcessing, api.ConditionFenceActionSucceeded, api.ConditionSucceeded} {
			c := meta.FindStatusCondition(st.Conditions, typ)
			words += string(c.Status)[:1]
		}
		c := meta.FindStatusCondition(st.Conditions, api.ConditionSucceeded)
		all = append(all, fmt.Sprintf("%s %s %d", words, c.Reason, st.NodeFence.FenceNumber))
	}
	return strings.Join(slices.Sorted(slices.Values(all)), ", ")
}

// TestDecide: what comes next for a request, by where its fence stands. Conditions are written as
// the first letters of Processing, FenceActionSucceeded and Succeeded, then the reason, and the
// number of the fence.
func TestDecide(t *testing.T) {
	const started, done = "RemediationStarted", "RemediationFinishedSuccessfully"
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		fence   *api.NodeFence
		want    string
	}{
		"new":                              {fresh, nil, "3 hold, 4 TUU " + started + " 0, 6 ask"},
		"held already":                     {asIs, nil, "4 TUU " + started + " 0, 6 ask"},
		"beside the fence of others":       {asIs, record(api.Fencing, by("x"), nil), "4 TUU " + started + " 0, 6 ask"},
		"after a fence that was not its":   {asIs, record(api.Finished, by("x"), outcome(api.Recovered, proven)), "4 TUU " + started + " 0, 6 ask"},
		"another object of this name":      {asIs, record(api.Pending, []api.AskedBy{{ID: "v", Source: "/fencerequests/n/a"}}, nil), "4 TUU " + started + " 0, 6 ask"},
		"its UID from another source":      {asIs, record(api.Pending, []api.AskedBy{{ID: "u", Source: "/else"}}, nil), "4 TUU " + started + " 0, 6 ask"},
		"its fence waits":                  {asIs, record(api.Pending, by("u"), nil), "4 TUU " + started + " 2"},
		"its fence is known by its number": {noted(2), record(api.Pending, by("x"), nil), "4 TUU " + started + " 2"},
		"it joined the fence of others":    {asIs, record(api.Pending, by("x", "u"), nil), "4 TUU " + started + " 2"},
		"the power is cut":                 {asIs, record(api.Fencing, by("u"), cut), "4 TUU " + started + " 2"},
		"there is a proof":                 {asIs, record(api.Releasing, by("u"), proven), "4 TTU " + started + " 2"},
		"it is released":                   {asIs, record(api.PoweringOn, by("u"), released), "4 FTT " + done + " 2"},
		"it joined after the cut":          {asIs, record(api.Recovering, by("x", "u!"), released), "4 FTT " + done + " 2"},
		"not all was released in time":     {asIs, record(api.PoweringOn, by("u"), leftOver), "4 TTU " + started + " 2"},
		"nor later":                        {asIs, record(api.Fenced, by("u"), leftOver), "4 FTF ReleaseTimedOut 2"},
		"nor at its end":                   {asIs, record(api.Finished, by("u"), outcome(api.Recovered, leftOver)), "4 FTF ReleaseTimedOut 2"},
		"the machine stays off":            {asIs, record(api.Fenced, by("u"), released), "4 FTT " + done + " 2"},
		"the node is only isolated":        {asIs, record(api.Fenced, by("u"), nil), "4 FFT " + done + " 2"},
		"given up":                         {asIs, record(api.Failed, by("u"), nil), "4 FFF WaitingForApproval 2"},
		"given up, and healthy since":      {asIs, record(api.Finished, by("u"), outcome(api.RequestFailed, failedBefore)), "4 FFF BindingInvalid 2"},
		"aborted":                          {asIs, record(api.Finished, by("u"), outcome(api.Aborted, nothing)), "4 FFF Aborted 2"},
		"healed before":                    {asIs, record(api.Finished, by("u"), outcome(api.HealedBeforeFence, nothing)), "4 FFF HealedBeforeFence 2"},
		"closed without a cut":             {asIs, record(api.Finished, by("u"), outcome(api.Recovered, nothing)), "4 FFF Recovered 2"},
		"closed after a cut":               {asIs, record(api.Finished, by("u"), outcome(api.Recovered, proven)), "4 FTT " + done + " 2"},
		"its node is gone":                 {asIs, record(api.Finished, by("u"), outcome(api.NodeGone, cut)), "4 FFF RemediationFinishedNodeNotFound 2"},
		"its node is gone, but released":   {asIs, record(api.Finished, by("u"), outcome(api.NodeGone, released)), "4 FTT " + done + " 2"},
		"closed before this one":           {asIs, record(api.Pending, by("x"), past(api.Recovered, 1, "u")), "4 FTT " + done + " 1"},
		"closed before, joined late":       {asIs, record(api.Pending, by("x"), past(api.Recovered, 0, "u!")), "4 FTT " + done + " 1"},
		"closed before, without a cut":     {asIs, record(api.Pending, by("x"), past(api.RequestExpired, 0, "u")), "4 FFF RequestExpired 1"},
		"its record is gone":               {noted(2), nil, "4 FFF Aborted 2"},
		"there is another record":          {both(noted(2), func(r *api.FenceRequest) { r.Status.NodeFence.UID = "e" }), record(api.Pending, by("x"), nil), "4 FFF Aborted 2"},
		"the last word is said":            {ended, record(api.Fencing, by("u"), proven), ""},
		"refused, and never asked again":   {ended, nil, ""},

		"deleted before anything":            {deleted, nil, "5 let go"},
		"deleted, nobody holds it":           {both(fresh, deleted), nil, ""},
		"deleted, a gate may be about to":    {deleted, record(api.Finished, nil, nil), "1 mark"},
		"deleted beside the fence of others": {deleted, record(api.Fencing, by("x"), nil), "1 mark"},
		"deleted, and that is marked":        {deleted, record(api.Finished, nil, marked), "5 let go"},
		"deleted, and others are marked":     {deleted, record(api.Finished, nil, func(f *api.NodeFence) { f.Annotations = map[string]string{api.WithdrawnAnnotation: "v,u0"} }), "1 mark"},
		"deleted, marked beside others":      {deleted, record(api.Finished, nil, func(f *api.NodeFence) { f.Annotations = map[string]string{api.WithdrawnAnnotation: "v,u"} }), "5 let go"},
		"deleted before the cut":             {deleted, record(api.Pending, by("u"), nil), "2 abort"},
		"deleted after others joined late":   {deleted, record(api.Fencing, by("u", "x!"), nil), "2 abort"},
		"deleted, given up before":           {both(ended, deleted), record(api.Failed, by("u"), nil), "2 abort"},
		"deleted, its last word said":        {both(ended, deleted), record(api.Isolating, by("u"), nil), "2 abort"},
		"deleted, others ask too":            {deleted, record(api.Pending, by("u", "x"), nil), "1 mark asker"},
		"deleted, others ask too, marked":    {deleted, record(api.Pending, by("u", "x"), askerMarked), "4 TUU " + started + " 2"},
		"deleted, wants no drain":            {deleted, record(api.Pending, by("u", "x"), skips), "1 mark asker"},
		"deleted, wanted no drain, marked":   {deleted, record(api.Pending, by("u", "x"), alsoMarked(skips)), "4 TUU " + started + " 2"},
		"deleted, others want no drain":      {deleted, record(api.Pending, by("x", "u"), alsoMarked(skips)), "4 TUU " + started + " 2"},
		"deleted, wanted no drain, alone":    {deleted, record(api.Pending, by("u"), skips), "2 abort"},
		"deleted, wanted no drain, aborted":  {deleted, record(api.Pending, by("u", "x"), func(f *api.NodeFence) { skips(f); aborting(f) }), "4 TUU " + started + " 2"},
		"deleted, wanted no drain, and cut":  {deleted, record(api.Fencing, by("u", "x"), func(f *api.NodeFence) { skips(f); cut(f) }), "1 mark asker"},
		"not deleted, wants no drain":        {asIs, record(api.Pending, by("u", "x"), skips), "4 TUU " + started + " 2"},
		"deleted, others were withdrawn":     {deleted, record(api.Pending, by("w", "u"), nil), "2 abort"},
		"deleted, one of others was":         {deleted, record(api.Pending, by("w", "u", "x"), nil), "1 mark asker"},
		"deleted, others asked before":       {deleted, record(api.Pending, by("x", "u"), nil), "1 mark asker"},
		"deleted after the cut":              {deleted, record(api.Fencing, by("u"), cut), "1 mark asker"},
		"deleted after the cut, marked":      {deleted, record(api.Fencing, by("u"), alsoMarked(cut)), "4 TUU " + started + " 2"},
		"deleted after the cut, came later":  {deleted, record(api.Fencing, by("x", "u!"), cut), "1 mark asker"},
		"deleted after the cut, aborted":     {deleted, record(api.Fencing, by("u"), func(f *api.NodeFence) { cut(f); aborting(f) }), "4 TUU " + started + " 2"},
		"deleted after the release":          {deleted, record(api.PoweringOn, by("u"), released), "1 mark asker"},
		"deleted after the release, marked":  {deleted, record(api.PoweringOn, by("u"), alsoMarked(released)), "4 FTT " + done + " 2"},
		"deleted, aborted already":           {deleted, record(api.Pending, by("u"), aborting), "4 TUU " + started + " 2"},
		"deleted long ago, aborted":          {longDeleted, record(api.Pending, by("u"), aborting), "5 let go"},
		"deleted long ago, after the cut":    {longDeleted, record(api.Fencing, by("u"), cut), "1 mark asker"},
		"that, and it is marked":             {longDeleted, record(api.Fencing, by("u"), alsoMarked(cut)), "5 let go"},
		"deleted long ago, before the cut":   {longDeleted, record(api.Fencing, by("u"), nil), "2 abort"},
		"deleted long ago, not marked":       {longDeleted, record(api.Finished, nil, nil), "1 mark"},
		"deleted after its end":              {both(ended, deleted), record(api.Finished, by("u"), outcome(api.Aborted, nothing)), "5 let go"},
		"deleted, the machine stays off":     {both(ended, deleted), record(api.Fenced, by("u"), alsoMarked(released)), "5 let go"},
		"that, and it is not marked":         {both(ended, deleted), record(api.Fenced, by("u"), released), "1 mark asker"},
		"deleted, its record is gone":        {both(noted(2), deleted), nil, "5 let go"},

		"timed out before anything":       {timedOut, nil, "4 FFF RemediationInterruptedByNHC 0"},
		"timed out, a gate may be about":  {timedOut, record(api.Finished, nil, nil), "1 mark"},
		"timed out, and that is marked":   {timedOut, record(api.Finished, nil, marked), "4 FFF RemediationInterruptedByNHC 0"},
		"timed out before the cut":        {timedOut, record(api.Pending, by("u"), nil), "2 abort"},
		"timed out, aborted":              {timedOut, record(api.Pending, by("u"), aborting), "4 FFF RemediationInterruptedByNHC 2"},
		"timed out after the cut":         {timedOut, record(api.Fencing, by("u"), cut), "1 mark asker"},
		"timed out after the proof":       {timedOut, record(api.Releasing, by("u"), alsoMarked(proven)), "4 FTF RemediationInterruptedByNHC 2"},
		"timed out after the release":     {timedOut, record(api.Recovering, by("u"), alsoMarked(released)), "4 FTT " + done + " 2"},
		"timed out, its last word said":   {both(ended, timedOut), nil, ""},
		"timed out, and deleted after it": {both(ended, timedOut, deleted), nil, "5 let go"},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(c.request)
			before := r.DeepCopy()
			got := Decide(Seen{Request: r, Node: "a", Fence: c.fence, WithdrawnToo: []string{"w"}, Now: now})
			if d := cmp.Diff(c.want, got.words()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, r); d != "" {
				t.Errorf("the object was changed: %s", d)
			}
		})
	}
}

// failedBefore: the record's history has a failure, and the end of it.
func failedBefore(f *api.NodeFence) {
	f.Status.History = []api.HistoryEntry{
		{Phase: api.Failed, Reason: api.BindingInvalid, Message: "spec.agent: unknown"},
		{Phase: api.Recovering, Reason: api.NodeHealthy}, {Phase: api.Finished, Reason: api.RequestFailed},
	}
}

// TestAFailureIsSaidInTheSameWordsEarlyAndLate: a fence that failed says why in the words of its failure, also
// where its end is read first.
func TestAFailureIsSaidInTheSameWordsEarlyAndLate(t *testing.T) {
	early := record(api.Failed, by("u"), func(f *api.NodeFence) {
		f.Status.Reason, f.Status.Message = api.BindingInvalid, "spec.agent: unknown"
	})
	late := record(api.Finished, by("u"), outcome(api.RequestFailed, failedBefore))
	var told []string
	for _, f := range []*api.NodeFence{early, late} {
		steps := Decide(Seen{Request: one(asIs), Node: "a", Fence: f, Now: now})
		told = append(told, meta.FindStatusCondition(steps.Status.Conditions, api.ConditionSucceeded).Message)
	}
	if want := "Failed, BindingInvalid: spec.agent: unknown"; told[0] != want || told[1] != want {
		t.Errorf("early %q, late %q, want %q", told[0], told[1], want)
	}
}

func aborting(f *api.NodeFence) {
	f.Spec.Requests.Abort = &api.AbortRequest{By: "x"}
}

// TestWhatIsWrittenStays: what was written is written once, and a last word is never taken back.
func TestWhatIsWrittenStays(t *testing.T) {
	r := one(asIs)
	f := record(api.Pending, by("u"), nil)
	step := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now})
	r.Status = *step.Status
	want := metav1.Condition{
		Type: "Processing", Status: "True", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now),
		Reason: "RemediationStarted", Message: "Pending, WaitingForApproval: waits",
	}
	if d := cmp.Diff(want, r.Status.Conditions[0]); d != "" || r.Status.NodeFence != (api.NodeFenceReference{Name: "a", UID: "f", FenceNumber: 2}) {
		t.Errorf("%+v %s", r.Status.NodeFence, d)
	}
	if again := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now.Add(time.Hour)}); again.words() != "" {
		t.Error(again.words())
	}
	r.Status = *Decide(Seen{Request: r, Node: "a", Fence: record(api.PoweringOn, by("u"), released), Now: now}).Status
	for _, f := range []*api.NodeFence{nil, f, record(api.Failed, by("u"), nil), record(api.Finished, by("u"), outcome(api.Aborted, nothing))} {
		if later := Decide(Seen{Request: r, Node: "a", Fence: f, Now: now}); later.words() != "" {
			t.Error(later.words())
		}
	}
}

// TestARefusalInAnObject has the word of the refusal, and NodeHealthCheck's where the node is gone.
func TestARefusalInAnObject(t *testing.T) {
	for why, want := range map[api.Reason]string{api.NoPolicy: "FFF NoPolicy", api.NoSuchNode: "FFF RemediationFinishedNodeNotFound"} {
		st := Refused(one(asIs), why, "words", now)
		if got := (Step{Status: &st}).words(); got != "4 "+want+" 0" {
			t.Error(got)
		}
	}
}

// TestBeside: who else is to be read, before a fence is aborted.
func TestBeside(t *testing.T) {
	others := []api.AskedBy{
		{ID: "u", Source: "/fencerequests/n/a"}, {ID: "v", Source: "/fencerequests/m/b"}, {ID: "x", Source: "/me"},
		{ID: "y", Source: "/fencerequests/c"}, {ID: "p", Source: "/fencerequests/n/../../nodes/a"}, {ID: "z", Source: "/fencerequests/n/d", Served: true},
	}
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		fence   *api.NodeFence
		want    string
	}{
		"withdrawn":         {deleted, record(api.Pending, others, nil), "v m/b"},
		"not withdrawn":     {asIs, record(api.Pending, others, nil), ""},
		"without a record":  {deleted, nil, ""},
		"the fence is over": {deleted, record(api.Finished, others, nil), ""},
		"the power is cut":  {deleted, record(api.Fencing, others, cut), ""},
	} {
		got := ""
		for _, o := range Beside(one(c.request), c.fence) {
			got += string(o.UID) + " " + o.Namespace + "/" + o.Name
		}
		if got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestUnfinished: resync looks at these.
func TestUnfinished(t *testing.T) {
	for name, c := range map[string]struct {
		request func(*api.FenceRequest)
		want    bool
	}{
		"new": {fresh, true}, "under way": {asIs, true}, "ended": {ended, false},
		"ended, and deleted": {both(ended, deleted), true}, "ended, deleted, and let go": {both(ended, deleted, fresh), false},
	} {
		if got := Unfinished(one(c.request)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

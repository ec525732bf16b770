package fence_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// broken are Decides that lack one guard each: the guard is shown a world in
// which it has nothing to object to, or its effect is taken back. The walk must
// catch every one of them.
var broken = map[string]decider{
	"does not mind another's call": always(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if c := f.Status.Claim; c != nil && c.Holder != s.Me {
			f.Status.Claim = nil
		}
	}),
	"takes over before a lost Off has had its effect": always(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if c := f.Status.Claim; c != nil && c.Holder != s.Me && now.After(c.NotAfter.Time) {
			f.Status.Claim = nil
		}
	}),
	"takes over a read that may be under way by its holder's clock": always(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if c := f.Status.Claim; c != nil && c.Call == api.CallRead && c.Holder != s.Me && !now.Before(c.NotAfter.Time) {
			f.Status.Claim = nil
		}
	}),
	"makes two calls in one invocation": func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if s.Call != nil && act == fence.None && st.Phase == api.Fencing {
			return st, fence.Read
		}
		return st, act
	},
	"calls without a claim": after(func(st *api.NodeFenceStatus, act fence.Action, _ time.Time) { st.Claim = nil }),
	"reads unknown as off": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		if c := s.Call; c != nil && c.Call == api.CallRead && c.Power == "" && !c.Wrong {
			c.Power, c.Err = "Off", ""
		}
	}),
	"believes one read": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if c := s.Call; c != nil && c.Power == "Off" && f.Status.Claim != nil && f.Status.Claim.Holder == s.Me && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: fence.StampOf(c.At.Add(-10 * time.Second))}
		}
	}),
	"does not let it settle":                                 unsettled,
	"takes any device for one that never reads off too soon": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) { noLead(f) }),
	"forgets that the Lease was fresh": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		f.Status.Power.LeaseFresh = false
		noLead(f) // which is as long here
	}),
	"does not look at the Lease": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Lease.Exists = false }),
	"lets a proof live for ever": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if p := f.Status.Proof; p != nil {
			q := *p
			q.At = fence.StampOf(now)
			f.Status.Proof = &q
		}
	}),
	"does not look at the boot ID": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Proof != nil {
			s.Node.BootID = f.Status.Proof.BootIDBefore
		}
	}),
	"releases a node that counts as Ready": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			s.Node.Conditions = []fence.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
		}
	}),
	"does not look at the node's UID": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Node.Exists, s.Node.UID = true, f.Status.Decision.NodeUID
	}),
	"believes a person against a moving Lease": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Spec.Requests.ConfirmOff != nil && f.Status.Phase == api.Fencing {
			s.Lease.Exists = false
		}
	}),
	"confirms without a person": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		at := f.Status.Decision.Trigger.Since.Time
		if f.Status.Phase == api.Fencing && f.Status.Answer(api.AskedConfirmOff) == nil {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: f.Status.FenceNumber, By: "nobody"}}
			f.Spec.Requests.ConfirmOff.At.Time = at
		}
	}),
	"sends Off without a read": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if f.Status.Phase == api.Fencing && s.Call == nil && f.Status.Power.LastRead == nil {
			f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: fence.StampOf(now)}
		}
	}),
	"sends Off on an old read": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if r := f.Status.Power.LastRead; r != nil && s.Call == nil {
			f.Status.Power.LastRead = &api.Read{State: r.State, At: fence.StampOf(now)}
		}
	}),
	"does not mind whose machine answers":     before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { mistake(s, "On") }),
	"takes another machine's off for a proof": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { mistake(s, "Off") }),
	"switches on what others switched off": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Power.SwitchedByUs = true
		}
	}),
	"switches on while an Off may still take effect": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.PoweringOn {
			f.Status.Power.EffectUntil = nil
		}
	}),
	"switches on before its work is gone": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			s.Left = &fence.Left{}
		}
	}),
	"does not see the brakes": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Brakes = fence.Brakes{Looked: s.Brakes.Looked, Counted: s.Brakes.Counted}
	}),
	"does not see that the policies are stricter now": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Brakes.Stricter, s.Brakes.Gone = false, false }),
	"holds only what has not begun against the policies": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Brakes.Stricter = s.Brakes.Stricter && !f.Status.Power.SwitchedByUs
	}),
	"does not ask storm and quorum again": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Brakes.Counted = true }),
	"keeps its taint on an excluded node": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Brakes.Unmark = false }),
	"takes brakes not looked at for off":  before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Brakes.Looked, s.Brakes.Counted = true, true }),
	"switches off what is healthy again, for its last Off did nothing": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		f.Status.Power.CutAt = nil
	}),
	"takes another's off for a late one of its own": before(func(f *api.NodeFence, s *fence.Seen, now time.Time) {
		if f.Status.Phase == api.Recovering && f.Status.Power.Cuts > 0 && f.Status.Power.OffAt == nil {
			at := fence.StampOf(now)
			f.Status.Power.OffAt = &at
		}
	}),
	"acts on an old decision": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		at := fence.StampOf(now)
		f.Status.DecidedAt = &at
	}),
	"does not see that the node healed": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Node.Conditions = append(s.Node.Conditions[:0:0], fence.Condition{Type: "Ready", Status: "Unknown", Since: fencetest.Start})
	}),
	"serves a request however old": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if f.Status.Decision.Asker() != nil {
			f.Status.Decision.AskedBy = askedAt(f, now)
		}
	}),
	"serves a request again and again": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		f.Status.CutOrReleased = false
	}),
	"does not hear an abort":          before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) { f.Spec.Requests.Abort = nil }),
	"does not see that it is deleted": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Deleting = false }),
	"lets a batch be begun at any time": after(func(st *api.NodeFenceStatus, act fence.Action, now time.Time) {
		if act == fence.Release {
			late := fence.StampOf(now.Add(time.Hour))
			st.Release.NotAfter = &late
		}
	}),
	"takes a taint that it doesn't see for one that can't come": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Cleared = s.Cleared || !s.Node.OutOfService
	}),
	"leaves the out-of-service taint on": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Cleared = true }),
	"leaves its own taint on": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Node.Taint = s.Node.Taint && f.Status.Phase != api.Recovering
	}),
	"leaves its own cordon on": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.Node.Cordoned = s.Node.Cordoned && f.Status.Phase != api.Recovering
		s.Node.Taint = s.Node.Taint && f.Status.Phase != api.Recovering
	}),
	"closes with its finalizer on":   before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) { s.Finalizer = false }),
	"does not say when to look next": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) { st.NextLook = nil }),
	"cuts where it should only isolate": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		f.Status.Decision.Settings.Action = api.ActionReboot
	}),
	"takes what one level said for the next": before(func(f *api.NodeFence, _ *fence.Seen, now time.Time) {
		if l := f.Status.Power.Level; l > 0 && f.Status.Power.LastRead == nil && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: fence.StampOf(now.Add(-time.Minute))}
		}
	}),
	"switches on one level alone": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		if l := f.Status.Power.Level; f.Status.Phase == api.PoweringOn {
			f.Status.Power.Cut = []int32{l}
		}
	}),
	"never counts its tries": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) { f.Status.Retries, f.Status.Restarts = -9, -9 }),
}

// mistake takes the answer of another machine for the node's own.
func mistake(s *fence.Seen, power string) {
	if s.Call != nil && s.Call.Wrong {
		s.Call.Wrong, s.Call.Power = false, power
	}
}

// unsettled takes the second read at any time, and writes down when both were.
func unsettled(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
	first := f.Status.Power.FirstOff
	if first == nil || fence.CoreOf(&f.Status.Decision, f.Status, s, now).Elsewhere() {
		return fence.Decide(f, s, now)
	}
	g := *f
	g.Status = *f.Status.DeepCopy()
	long := fence.StampOf(first.At.Add(-10 * time.Second))
	g.Status.Power.FirstOff.At, g.Status.Power.NotBefore = long, nil
	st, act := fence.Decide(&g, s, now)
	if r := st.Power.FirstOff; r != nil && r.At.Equal(&long) {
		r.At = first.At
	}
	if p := st.Proof; p != nil && len(p.Reads) == 2 && p.Reads[0].At.Equal(&long) {
		p.Reads[0].At = first.At
	}
	return st, act
}

// noLead has a device read off only when the machine is off.
func noLead(f *api.NodeFence) {
	if f.Status.Decision.Power(0) != nil {
		f.Status.Decision.Devices = slices.Clone(f.Status.Decision.Devices)
		f.Status.Decision.Power(0).Lead = &metav1.Duration{}
	}
}

// before shows Decide another world, unless another's call is in flight, when
// it does nothing whatever the world is like.
func before(change func(*api.NodeFence, *fence.Seen, time.Time)) decider {
	changed := always(change)
	return func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		if fence.CoreOf(&f.Status.Decision, f.Status, s, now).Elsewhere() {
			return fence.Decide(f, s, now)
		}
		return changed(f, s, now)
	}
}

// always does so at every step.
func always(change func(*api.NodeFence, *fence.Seen, time.Time)) decider {
	return func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		g.Status = *f.Status.DeepCopy()
		if s.Call != nil {
			c := *s.Call
			s.Call = &c
		}
		change(&g, &s, now)
		return fence.Decide(&g, s, now)
	}
}

// after takes back what Decide has done.
func after(change func(*api.NodeFenceStatus, fence.Action, time.Time)) decider {
	return func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		change(&st, act, now)
		return st, act
	}
}

var whole = flag.Bool("walk.whole", false, "look for each broken Decide in the whole walk at once, which takes minutes")

// pack is of broken Decides that are looked for in one walk.
type pack struct {
	twins map[string]decider
	from  aside
}

func packs() []pack {
	all := maps.Clone(broken)
	for _, more := range []map[string]decider{brokenGentle, brokenWent, brokenSupplies, brokenAwaited} {
		maps.Copy(all, more)
	}
	live := func(twins map[string]decider, specs ...fencetest.Given) pack {
		return pack{twins, aside{specs, true}}
	}
	return []pack{
		live(all, starts()...), live(brokenEarly, earlySpec()), {brokenWitness, aside{[]fencetest.Given{deviceSpec(), aloneSpec()}, false}},
		live(brokenReads, noneSpec()), live(brokenDumpProof, dumpProofSpec()), live(brokenOptIn, kdumpSpec()), live(brokenKdump, kdumpSpec()),
		live(brokenGone, goneSpec()), live(brokenKept, fencetest.Spec()), live(brokenMachine, machineSpec()), live(brokenBare, bareSpec()),
		live(brokenCut, fabricSpec(), cutSpec()), live(brokenHeld, heldSpec()), {brokenManual, aside{[]fencetest.Given{manualSpec()}, false}},
	}
}

// TestEveryBrokenDecideIsCaught by the promise that it names. Most show soon: a few looks
// at each start are cheap, and the whole walk is for those that nothing less shows.
func TestEveryBrokenDecideIsCaught(t *testing.T) {
	for _, p := range packs() {
		for name, d := range p.twins {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				catch(t, name, d, p.from)
			})
		}
	}
}

// hunts are how few looks are taken, and how many states visited, before the whole walk.
var hunts = []struct{ few, most int }{{23, 150}, {17, 150}, {11, 150}, {17, 1500}, {11, 1500}, {13, 1500}}

func catch(t *testing.T, name string, d decider, from aside) {
	t.Helper()
	specs := from.specs
	if strings.Contains(name, "request") { // elsewhere others may come first to where it shows
		specs = []fencetest.Given{requestSpec()}
	}
	if strings.Contains(name, "level") {
		specs = []fencetest.Given{levelsSpec()}
	}
	found := func(few, most int, begin ...state) bool {
		w := newWalker(d)
		w.hunts, w.live, w.levels, w.most, w.wants = few, from.live, false, most, breaks[name]
		w.begin(begin...)
		w.walk()
		if w.found() {
			t.Logf("caught after %d decisions: %s", w.decisions, w.broken[w.wants])
		}
		return w.found()
	}
	if begin := near[name]; begin != nil && found(0, 1500, begin()...) {
		return
	}
	for _, h := range hunts {
		for _, spec := range specs {
			if !*whole && found(h.few, h.most, beginnings(spec)...) {
				return
			}
		}
	}
	if !found(0, 0, beginnings(specs...)...) {
		t.Fatalf("it survived the walk, and should break: %s", breaks[name])
	}
}

// Guards that need no walk: they hold in the first state, whatever is seen.
func TestNeverBegins(t *testing.T) {
	at := fencetest.Start
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *fence.Seen)
		why    api.Reason
	}{
		"a control-plane node is never fenced (S13)": {func(_ *api.NodeFence, s *fence.Seen) { s.Node.ControlPlane = true }, api.ControlPlaneNode},
		"nothing fences its own machine (S13)":       {func(_ *api.NodeFence, s *fence.Seen) { s.Self = true }, api.OwnMachine},
		"a node that its policy excludes is left alone": {func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.Excluded = "policy p excludes this node"
		}, api.Excluded},
		"a node that somebody excluded is left alone":      {func(_ *api.NodeFence, s *fence.Seen) { s.Node.Excluded = "the label" }, api.Excluded},
		"a node that is about to be deleted is left alone": {func(_ *api.NodeFence, s *fence.Seen) { s.Node.Deleting = "Karpenter" }, api.NodeBeingDeleted},
		"a fence that needs approval waits for it": {func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
		}, api.WaitingForApproval},
		"without approval in time it is given up": {func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
			since := fence.StampOf(at.Add(-time.Hour))
			f.Status.ApprovalSince = &since
		}, api.NotApproved},
		"without a device a person must confirm": {func(f *api.NodeFence, s *fence.Seen) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Devices, s.Resolved = api.ActionWaitForOff, nil, true
		}, api.WaitingForConfirmation},
		"two policies of one precedence are a conflict": {func(f *api.NodeFence, _ *fence.Seen) { f.Status.Decision.Settings.Conflict = "q" }, api.PolicyConflict},
		"a dry run says what it would do":               {func(f *api.NodeFence, _ *fence.Seen) { f.Status.Decision.Settings.Mode = api.ModeDryRun }, api.DryRun},
		"a node fenced too often today waits (S26)": {func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.PerNode.CutsPerDay = 1
			f.Status.Past = []api.PastFence{{Cuts: 1, ClosedAt: fence.StampOf(at)}}
		}, api.NodeFencedTooOften},
		"without a binding it fails, in words": {func(f *api.NodeFence, s *fence.Seen) {
			f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = nil, "ConfigMap x, key y: wrong", true
		}, api.BindingInvalid},
	} {
		s := &state{now: at, spec: fencetest.Spec(), sh: shadow{renewed: "r0"}}
		f := &api.NodeFence{Spec: s.spec.AsSpec(), Status: s.spec.In(api.NodeFenceStatus{})}
		f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = api.Pending, 1, api.Schema
		seen := usual(s, at, "Unknown", false, "a")
		c.change(f, &seen)
		st, act := fence.Decide(f, seen, at)
		if st.Reason != c.why || act != fence.None || (st.Phase != api.Pending && st.Phase != api.Failed) {
			t.Errorf("%s: %s %s, action %q", name, st.Phase, st.Reason, act)
		}
	}
}

func TestARecordFromTheFutureIsLeftAlone(t *testing.T) { // S21
	for name, st := range map[string]api.NodeFenceStatus{
		"an unknown phase": {Phase: "Teleporting", FenceNumber: 1, MinReaderVersion: api.Schema},
		"a newer schema":   {Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema + 1},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(st)}
		got, act := fence.Decide(f, usual(&state{spec: fencetest.GivenBy(f), st: st}, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
		if act != fence.None || got.NextLook != nil || got.Phase != st.Phase {
			t.Errorf("%s: %+v, action %q", name, got, act)
		}
	}
}

// What lets such a fence begin: the person's word, or the rule of quorum, under
// which the ledger's step decides.
func TestBeginsOnAPersonsWord(t *testing.T) {
	at := fencetest.Start
	for name, change := range map[string]func(*api.NodeFence, *fence.Seen){
		"approved": func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.Mode, f.Spec.Requests.Approve = api.ModeRequireApproval, &api.Request{FenceNumber: f.Status.FenceNumber, By: "me"}
		},
		"confirmed, without a device": func(f *api.NodeFence, _ *fence.Seen) {
			f.Status.Decision.Settings.Action, f.Status.Decision.Devices, f.Spec.Requests.ConfirmOff = api.ActionWaitForOff, nil, &api.Confirmation{Request: api.Request{FenceNumber: f.Status.FenceNumber, By: "me"}}
		},
		"a control-plane node under the rule of quorum": func(f *api.NodeFence, s *fence.Seen) {
			f.Status.Decision.Settings.ControlPlane.Fence, s.Node.ControlPlane = api.WithQuorum, true
		},
	} {
		s := &state{now: at, spec: fencetest.Spec(), sh: shadow{renewed: "r0"}}
		f := &api.NodeFence{Spec: s.spec.AsSpec(), Status: s.spec.In(api.NodeFenceStatus{})}
		f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = api.Pending, 1, api.Schema
		seen := usual(s, at, "Unknown", false, "a")
		seen.Reserved = nil
		change(f, &seen)
		if st, act := fence.Decide(f, seen, at); act != fence.Reserve {
			t.Errorf("%s: %s %s, action %q", name, st.Phase, st.Reason, act)
		}
	}
}

// TestNoDeviceIsAskedWithoutOne: a person's word that is not believed leads back
// to waiting, and holds no slot meanwhile (S14).
func TestNoDeviceIsAskedWithoutOne(t *testing.T) {
	s := &state{now: fencetest.Start, spec: fencetest.Spec(), sh: shadow{renewed: "r0"}}
	f := &api.NodeFence{Spec: s.spec.AsSpec(), Status: s.spec.In(api.NodeFenceStatus{})}
	f.Status.Decision.Settings.Action, f.Status.Decision.Devices = api.ActionWaitForOff, nil
	decided := fence.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, DecidedAt: &decided, Placed: api.Placed{Taint: true}}
	st, act := fence.Decide(f, usual(s, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
	if st.Phase != api.Pending || st.Reason != api.WaitingForConfirmation || act != fence.None {
		t.Errorf("%s %s, action %q", st.Phase, st.Reason, act)
	}
}

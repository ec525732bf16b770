package functions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/readiness"
	"github.com/nodefence/nodefence/shared/report"
)

const (
	ourKinds   = "/apis/nodefence.io/v1alpha1/"
	targetPath = ourKinds + "fencetargets/a"
	fencePath  = ourKinds + "nodefences/a"
)

// checked is a cluster with node a, whose devices belong to a rack.
type checked struct {
	*objects
	// power reads the devices that switch the machine, isolate those that cut it off.
	power, isolate *readiness.Checker
	// bound is the result of the node's configuration.
	bound []api.Binding
	unfit error
	rack  *mem.Rack
	said  []string
	// asked is called while a device is read.
	asked func()
	reads int
	// by are the functions that read a device.
	by []string
}

func newChecked(t *testing.T, devices ...api.Binding) *checked {
	t.Helper()
	c := &checked{objects: newObjects(t), bound: devices, rack: mem.NewRack(time.Now)}
	c.put("/api/v1/nodes/a", healthy("a"))
	c.turn(api.CheckTurn)
	part := func(function string) *readiness.Checker {
		return &readiness.Checker{
			Client: c.client, Reporter: c, Function: function, Me: invocationID, Source: events.SourceOf("c"), Cuts: function == isolate.Name,
			Devices: func(context.Context, readiness.Asked) (readiness.Resolved, error) {
				return readiness.Resolved{Devices: c.bound}, c.unfit
			},
			Open: func(_ context.Context, b *api.Binding, _ devicecall.Claim) (device.Driver, error) {
				d, err := c.rack.Kind().Open(b.Params)
				return &asking{d, c, function}, err
			},
		}
	}
	c.power, c.isolate = part(power.Name), part(isolate.Name)
	return c
}

// asking is a device that reports when it is read.
type asking struct {
	device.Driver
	*checked
	function string
}

func (a *asking) State(ctx context.Context) (device.Reading, error) {
	a.reads++
	a.by = append(a.by, a.function)
	if a.checked.asked != nil {
		a.checked.asked()
	}
	return a.Driver.State(ctx)
}

func healthy(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-a"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// turn gives the node a turn that is over in a while.
func (c *checked) turn(left time.Duration) {
	until := metav1.NewMicroTime(c.client.Clock().Now().Add(left).UTC())
	c.put(ourKinds+"fenceledgers/cluster", &api.FenceLedger{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: api.FenceLedgerStatus{Checks: []api.NodeTurn{{NodeName: "a", Until: until}}},
	})
}

// handle makes a check, with everything that follows from it.
func (c *checked) handle(t *testing.T) {
	t.Helper()
	if next := c.ask(t); next != nil {
		c.hand(t, *next)
	}
}

// ask makes the check itself; its reply is for isolate.
func (c *checked) ask(t *testing.T) *event.Event {
	t.Helper()
	now := time.Now()
	next, err := c.power.Handle(t.Context(), "a", events.SourceOf("c").Check("a", "uid-a", now, now, now))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func (c *checked) hand(t *testing.T, e event.Event) {
	t.Helper()
	if Owner(e.Type()) != isolate.Name || events.Expired(e, time.Now()) {
		t.Errorf("%s goes to %q, in time for nobody: %v", e.Type(), Owner(e.Type()), e)
	}
	if reply, err := c.isolate.Handle(t.Context(), "a", e); reply != nil || err != nil {
		t.Fatal(reply, err)
	}
}

// target is the FenceTarget in one line: condition, reason, and each device's.
func (c *checked) target(t *testing.T) string {
	t.Helper()
	ft, err := c.client.Target(t.Context(), "a")
	if err != nil || ft == nil {
		return "none"
	}
	if ft.Status.Claim != nil {
		return "claimed"
	}
	is := meta.FindStatusCondition(ft.Status.Conditions, api.Fenceable)
	all := fmt.Sprintf("%s %s:", is.Status, is.Reason)
	for _, d := range ft.Status.Devices {
		all += " " + d.Address + " " + string(d.Reason)
	}
	return all
}

// The witness.
func (c *checked) Checked(_ context.Context, k report.Check) {
	c.said = append(c.said, meta.FindStatusCondition(k.Target.Status.Conditions, api.Fenceable).Message)
}
func (c *checked) Ignored(_ context.Context, _ string, _ event.Event, why string) {
	c.said = append(c.said, why)
}
func (c *checked) Decided(context.Context, report.Decision)        {}
func (c *checked) Refused(context.Context, report.Refusal)         {}
func (c *checked) Merged(context.Context, report.Refusal)          {}
func (c *checked) Remediated(context.Context, report.Remediation)  {}
func (c *checked) Alerted(context.Context, report.Refusal, string) {}
func (c *checked) Unsaved(context.Context, report.Unsaved)         {}
func (c *checked) Lost(context.Context, report.Loss)               {}

func boundTo(name, enrolled string) api.Binding {
	from := api.ConfigSource{Kind: api.KindConfigMap, Namespace: "ns", Name: "fence-config-node-a", ResourceVersion: "7"}
	return api.Binding{Driver: "mem", Address: name, Params: map[string]string{"name": name}, Identity: enrolled, Sources: []api.ConfigSource{from}}
}

// cutBy is a device that takes something else than the power.
func cutBy(name, enrolled string) api.Binding {
	b := boundTo(name, enrolled)
	b.Role = api.RoleStorage
	return b
}

func unfitFor(r api.Reason) error {
	return &readiness.Unfit{Reason: r, Err: errors.New("ConfigMap x, key y: mend it")}
}

// TestCheck: what a node's devices say of themselves while nothing has failed.
func TestCheck(t *testing.T) {
	unfit := unfitFor
	for name, tc := range map[string]struct {
		devices []api.Binding
		err     error
		checks  int
		want    string
		says    string
	}{
		"it answers, and is the right one": {[]api.Binding{boundTo("a", "a")}, nil, 1, "True DeviceAnswers: a DeviceAnswers", "each of its devices answers, and for this machine as far as it can tell"},
		"nothing was enrolled":             {[]api.Binding{boundTo("a", "")}, nil, 1, "True DeviceAnswers: a DeviceAnswers", "each of its devices answers, and for this machine as far as it can tell"},
		"no binding":                       {nil, unfit(api.NoBinding), 1, "False NoBinding:", "ConfigMap x, key y: mend it"},
		"a binding that is wrong":          {nil, unfit(api.BindingInvalid), 1, "False BindingInvalid:", "ConfigMap x, key y: mend it"},
		"it can't be reached":              {[]api.Binding{boundTo("unreachable-a", "")}, nil, 1, "False DeviceUnreachable: unreachable-a DeviceUnreachable", "level 1 of 1, mem unreachable-a: device unreachable: unreachable-a; see that it is on and can be reached from where nodefence runs, or mend the address of its device, mem unreachable-a, in ConfigMap fence-config-node-a or in those that it names"},
		"it lets nobody in":                {[]api.Binding{boundTo("wrongpassword-a", "")}, nil, 1, "False DeviceDenied: wrongpassword-a DeviceDenied", "level 1 of 1, mem wrongpassword-a: mend its user, its password or what it may do: device denied access: wrongpassword-a"},
		"it is another machine's (S11)":    {[]api.Binding{boundTo("other-a", "a")}, nil, 1, "False WrongMachine: other-a WrongMachine", "level 1 of 1, mem other-a: it answers for machine another, enrolled is a; mend the address of its device, mem other-a, in ConfigMap fence-config-node-a or in those that it names"},
		"it refuses":                       {[]api.Binding{boundTo("mute-a", "")}, nil, 1, "False DeviceFailed: mute-a DeviceFailed", "level 1 of 1, mem mute-a: device refused in its present state: mute-a does not say"},
		"one device a check":               {[]api.Binding{boundTo("a", "a"), boundTo("b", "")}, nil, 1, "Unknown NotCheckedYet: a DeviceAnswers b NotCheckedYet", "level 2 of 2, mem b: it was not read yet"},
		"the other one next":               {[]api.Binding{boundTo("a", "a"), boundTo("unreachable-b", "")}, nil, 2, "False DeviceUnreachable: a DeviceAnswers unreachable-b DeviceUnreachable", ""},
		"storage, too":                     {[]api.Binding{boundTo("a", "a"), cutBy("s", "")}, nil, 2, "True DeviceAnswers: a DeviceAnswers s DeviceAnswers", ""},
		"storage has its turn next":        {[]api.Binding{boundTo("a", "a"), cutBy("s", "")}, nil, 1, "Unknown NotCheckedYet: a DeviceAnswers s NotCheckedYet", "isolation 1 of 1, mem s: it was not read yet"},
		"nothing but storage":              {[]api.Binding{cutBy("s", "s")}, nil, 1, "True DeviceAnswers: s DeviceAnswers", ""},
		"storage that can't be reached":    {[]api.Binding{cutBy("unreachable-s", "")}, nil, 1, "False DeviceUnreachable: unreachable-s DeviceUnreachable", "isolation 1 of 1, mem unreachable-s: device unreachable: unreachable-s; see that it is on and can be reached from where nodefence runs, or mend the address of its device, mem unreachable-s, in ConfigMap fence-config-node-a or in those that it names"},
		"storage that lets nobody in":      {[]api.Binding{boundTo("a", "a"), cutBy("s", ""), cutBy("wrongpassword-t", "")}, nil, 3, "False DeviceDenied: a DeviceAnswers s DeviceAnswers wrongpassword-t DeviceDenied", ""},
		"storage of another (S11)":         {[]api.Binding{cutBy("other-s", "s")}, nil, 1, "False WrongMachine: other-s WrongMachine", "isolation 1 of 1, mem other-s: it answers for machine another, enrolled is s; mend the address of its device, mem other-s, in ConfigMap fence-config-node-a or in those that it names"},
		"storage that does not tell":       {[]api.Binding{cutBy("mute-s", "")}, nil, 1, "False DeviceFailed: mute-s DeviceFailed", ""},
		"the bad one has the word":         {[]api.Binding{boundTo("unreachable-a", ""), boundTo("b", "")}, nil, 1, "False DeviceUnreachable: unreachable-a DeviceUnreachable b NotCheckedYet", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecked(t, tc.devices...)
			c.unfit = tc.err
			for range tc.checks {
				c.handle(t)
			}
			if d := cmp.Diff(tc.want, c.target(t)); d != "" {
				t.Error(d)
			}
			if tc.says != "" && c.said[0] != tc.says {
				t.Errorf("it says %q\nwant    %q", c.said[0], tc.says)
			}
		})
	}
}

// TestACheckIsMadeOnlyInItsTurn: the event is a hint. A doubled, late or forged event leads
// to no read, and a known result is not written again (S18: no event is believed).
func TestACheckIsMadeOnlyInItsTurn(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.handle(t)
	was := c.version(targetPath)
	c.handle(t)
	if got := c.version(targetPath); got != was || c.reads != 1 {
		t.Errorf("a doubled event: %d reads", c.reads)
	}
	c.turn(-time.Second)
	c.handle(t)
	if d := cmp.Diff("NoTurn", c.said[len(c.said)-1]); d != "" || c.reads != 1 {
		t.Errorf("%d reads: %s", c.reads, d)
	}
	c.turn(api.CheckTurn + time.Minute) // the next one
	c.handle(t)
	if c.reads != 2 || c.version(targetPath) == was {
		t.Errorf("in its next turn: %d reads", c.reads)
	}
}

// TestACheckTakesNoLongerThanItsTurn, and within that as long as a fence's call may take, so that
// a slow device that a fence can use is not said to be unreachable (S7).
func TestACheckTakesNoLongerThanItsTurn(t *testing.T) {
	for call, want := range map[time.Duration]time.Duration{0: 20 * time.Second, 5 * time.Second: 20 * time.Second, 30 * time.Second: 30 * time.Second, time.Minute: api.CheckTurn} {
		c := newChecked(t, boundTo("a", "a"))
		c.power.DeviceCall = call
		c.asked = func() {
			ft, err := c.client.Target(t.Context(), "a")
			if err != nil || ft.Status.Claim == nil {
				t.Fatalf("calls of %s: %+v, %v", call, ft, err)
			}
			led, err := c.client.Ledger(t.Context())
			turn, is := led.Status.Turn("a")
			if err != nil || !is || ft.Status.Claim.NotAfter.After(turn.Time) {
				t.Errorf("calls of %s: claimed until %s, and its turn ends at %s (%v)", call, ft.Status.Claim.NotAfter, turn, err)
			}
			if got := ft.Status.Claim.NotAfter.Sub(ft.Status.Claim.At.Time); got > want || got < want-5*time.Second {
				t.Errorf("calls of %s: claimed for %s, want about %s", call, got, want)
			}
		}
		c.handle(t)
		if c.reads != 1 {
			t.Errorf("calls of %s: %d reads", call, c.reads)
		}
	}
}

// TestWhatIsKnownOfAnotherNodeCountsForNothing: with a new Node object of the name the
// checks begin again, and so they do for a device with a new binding.
func TestWhatIsKnownOfAnotherNodeCountsForNothing(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.handle(t)
	n := healthy("a")
	n.UID = "another"
	c.put("/api/v1/nodes/a", n)
	c.bound, c.unfit = nil, &readiness.Unfit{Reason: api.NoBinding, Err: errors.New("none")}
	c.handle(t)
	ft, err := c.client.Target(t.Context(), "a")
	if err != nil || ft.Status.NodeUID != "another" || len(ft.Status.Devices) != 0 {
		t.Errorf("%+v, %v", ft.Status, err)
	}
}

// TestAFenceTargetWithoutAStatusWasNotChecked: the process that made it died before it
// could claim (S7).
func TestAFenceTargetWithoutAStatusWasNotChecked(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.put(targetPath, &api.FenceTarget{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{api.CheckNowAnnotation: "1"}}})
	c.handle(t)
	if got := c.target(t); got != "True DeviceAnswers: a DeviceAnswers" || c.reads != 1 || !c.heeded(t) {
		t.Errorf("%d reads, heeded %v: %s", c.reads, c.heeded(t), got)
	}
}

// TestTwoChecksAreOne: the second process finds the claim, and leaves the device alone
// (S7).
func TestTwoChecksAreOne(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.asked = func() {
		c.asked = nil
		c.handle(t)
	}
	c.handle(t)
	if c.reads != 1 {
		t.Errorf("%d reads at once", c.reads)
	}
}

// TestNoDeviceIsReadBesideAFence: a fence is opened and asks for its slot at any point of a
// check. Either the check makes no read after that, or the fence gets no slot before the
// read is over (S7: one device call at a time).
func TestNoDeviceIsReadBesideAFence(t *testing.T) {
	for name, bound := range map[string]api.Binding{"what switches the machine": boundTo("a", "a"), "what cuts it off": cutBy("s", "")} {
		t.Run(name, func(t *testing.T) { neverBeside(t, bound) })
	}
}

func neverBeside(t *testing.T, bound api.Binding) {
	held, spared := 0, 0
	for k := 0; ; k++ { // 0 is while the device is read
		c := newChecked(t, bound)
		f := &beside{t: t, checked: c, gate: &gate.Gate{Client: c.client, Log: slog.New(slog.DiscardHandler)}}
		requests := 0
		c.before = func(*http.Request) {
			if requests++; requests == k {
				f.open()
			}
		}
		c.asked = func() {
			if k == 0 {
				f.open()
			}
			if f.goesOn || f.opened && !f.held() {
				t.Errorf("opened at request %d: its device is being read, and the fence goes on", k)
			} else if f.opened {
				held++
			}
		}
		c.handle(t)
		if !f.opened {
			break
		}
		if f.goesOn && c.reads == 0 {
			spared++
		}
		if f.held() {
			t.Errorf("opened at request %d: held after the check is over", k)
		}
		if got := c.target(t); got == "claimed" {
			t.Errorf("opened at request %d: the claim was left behind", k)
		}
	}
	if held == 0 || spared == 0 {
		t.Errorf("%d fences waited for a check, %d checks were left for a fence: this has not seen both", held, spared)
	}
}

// TestEachReadsItsOwn: only isolate calls the devices that cut off storage and network,
// only power calls the device that switches the machine, and each device is read once in a
// round, whatever happens to the other function.
func TestEachReadsItsOwn(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"), cutBy("s", ""))
	n := time.Duration(0)
	round := func(handed bool) {
		c.turn(api.CheckTurn + n*time.Minute)
		n++
		if next := c.ask(t); next != nil && handed {
			c.hand(t, *next)
		}
	}
	for range 4 {
		round(true)
	}
	if d := cmp.Diff([]string{power.Name, isolate.Name, power.Name, isolate.Name}, c.by); d != "" {
		t.Error(d)
	}
	c.by = nil
	for range 4 {
		round(false) // isolate is away
	}
	if d := cmp.Diff([]string{power.Name, power.Name}, c.by); d != "" {
		t.Error("while isolate is away", d)
	}
}

// TestIsolateReadsWhatItIsAskedFor and nothing else, once: its event is a hint, too (S18).
func TestIsolateReadsWhatItIsAskedFor(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"), cutBy("s", ""))
	now := time.Now()
	forged := events.SourceOf("c").CheckIsolation("a", "uid-a", now.Add(api.CheckTurn), now, event.New())
	c.hand(t, forged) // no FenceTarget yet
	if got := c.version(targetPath); got != "" {
		t.Error("it has made a FenceTarget")
	}
	c.handle(t) // a
	c.hand(t, forged)
	if d := cmp.Diff([]string{power.Name}, c.by); d != "" {
		t.Error("it was not asked", d)
	}
	next := c.ask(t)
	c.hand(t, *next)
	was := c.version(targetPath)
	c.hand(t, *next)
	if d := cmp.Diff([]string{power.Name, isolate.Name}, c.by); d != "" || c.version(targetPath) != was {
		t.Error("a doubled event", d)
	}
	c.turn(api.CheckTurn + time.Minute)
	c.handle(t) // a
	next = c.ask(t)
	c.bound = c.bound[:1] // it is bound no more
	c.hand(t, *next)
	c.bound = append(c.bound, boundTo("s", "")) // or switches the machine now
	c.hand(t, *next)
	if d := cmp.Diff([]string{power.Name, isolate.Name, power.Name}, c.by); d != "" {
		t.Error("bound anew", d)
	}
}

// TestTwoFunctionsHaveTwoClocks: a device that isolate has read is not due any more, also
// if the clock of isolate is behind that of power (S30: one clock).
func TestTwoFunctionsHaveTwoClocks(t *testing.T) {
	c := newChecked(t, cutBy("s", ""), cutBy("t", ""))
	next := c.ask(t)
	ft, err := c.client.Target(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ahead := metav1.NewMicroTime(ft.Status.Devices[0].LastAsked.Add(time.Second))
	ft.Status.Devices[0].LastAsked = &ahead
	c.put(targetPath, ft)
	c.hand(t, *next)
	c.handle(t)
	if d := cmp.Diff("True DeviceAnswers: s DeviceAnswers t DeviceAnswers", c.target(t)); d != "" {
		t.Error(d)
	}
}

// TestLeftCutOff: a device reports a Ready node as cut off, and the node's owner is told.
func TestLeftCutOff(t *testing.T) {
	c := newChecked(t, cutBy("s", ""))
	d, err := c.rack.Kind().Open(map[string]string{"name": "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.handle(t)
	if d := cmp.Diff("False LeftCutOff: s LeftCutOff", c.target(t)); d != "" {
		t.Error(d)
	}
	n := healthy("a")
	n.Status.Conditions[0].Status = corev1.ConditionFalse
	c.put("/api/v1/nodes/a", n)
	c.turn(api.CheckTurn + time.Minute)
	c.handle(t)
	if d := cmp.Diff("True DeviceAnswers: s DeviceAnswers", c.target(t)); d != "" {
		t.Error("its node is not Ready", d)
	}
}

// beside is a fence that is opened while a check is under way.
type beside struct {
	t *testing.T
	*checked
	gate *gate.Gate
	// goesOn: it was told nothing of a check, and may call the device.
	opened, goesOn bool
}

func (b *beside) open() {
	b.opened = true
	b.put(fencePath, b.record())
	b.goesOn = !b.held()
}

func (b *beside) record() *api.NodeFence {
	return &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1, Decision: api.Decision{NodeUID: "uid-a"}}}
}

// held: it asks for its slot, and is told to wait for the check.
func (b *beside) held() bool {
	r, err := b.gate.Act(context.Background(), b.record(), fence.Reserve, observed.Look{})
	if err != nil {
		b.t.Error(err)
	}
	return r.Verdict != nil && r.Verdict.Reason == api.DeviceBeingRead
}

// TestAFenceWithoutATurnAsksNothingMore: if no check can be under way, reserving costs no
// further request.
func TestAFenceWithoutATurnAsksNothingMore(t *testing.T) {
	c := newChecked(t, boundTo("a", "a"))
	c.turn(-time.Second)
	g := &gate.Gate{Client: c.client, Log: slog.New(slog.DiscardHandler)}
	c.before = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "fencetargets") {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
	}
	if _, err := g.Act(t.Context(), &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}, fence.Reserve, observed.Look{}); err != nil {
		t.Fatal(err)
	}
}

package act

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

var ann = Person{Name: "ann", At: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)), Reason: "seen dark"}

// fence is fence 3 of node a1.
func fence(phase api.Phase, reason api.Reason, change ...func(*api.NodeFenceStatus)) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a1", UID: "u", ResourceVersion: "7"}, Spec: api.NodeFenceSpec{NodeName: "a1"}}
	st := &f.Status
	st.FenceNumber, st.Phase, st.Reason, st.Message = 3, phase, reason, "m"
	if reason == api.WaitingForApproval {
		st.WaitsFor = api.WaitsForApproval
	}
	st.Decision.Policy.Name = "workers"
	st.Decision.Settings.Action, st.Decision.Settings.Mode = api.ActionReboot, api.ModeRequireApproval
	st.Decision.Settings.PerNode.CutsPerDay = 3
	st.Decision.Settings.Recovery.Uncordon = api.UncordonManual
	st.Decision.Devices = []api.Binding{{Driver: "ipmi", Address: "192.0.2.7", Role: api.RolePower}}
	for _, c := range change {
		c(st)
	}
	return f
}

func patch(t *testing.T, c Change) string {
	t.Helper()
	raw, err := json.Marshal(c.Patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestARequestNamesItsFence: by record, version and number, and in the person's own name.
func TestARequestNamesItsFence(t *testing.T) {
	const guards = `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"requests":{`
	const asks = `{"at":"2026-01-01T12:00:00Z","by":"ann","fenceNumber":3,"reason":"seen dark"`
	for name, tc := range map[string]struct {
		build func(*api.NodeFence, Person) (Change, error)
		of    *api.NodeFence
		want  string
		asks  api.RequestName
	}{
		"approve": {Approve, fence(api.Pending, api.WaitingForApproval), guards + `"approve":` + asks + `}}}}`, api.AskedApprove},
		"abort":   {Abort, fence(api.Pending, api.WaitingForApproval), guards + `"abort":` + asks + `}}}}`, api.AskedAbort},
		"retry":   {Retry, fence(api.Failed, api.DeviceFailed), guards + `"retry":` + asks + `}}}}`, api.AskedRetry},
		"lift":    {Lift, fence(api.Recovering, api.WaitingForUncordon), guards + `"uncordon":` + asks + `}}}}`, api.AskedUncordon},
		"confirm": {func(f *api.NodeFence, p Person) (Change, error) { return ConfirmOff(f, p, "") }, fence(api.Fencing, api.WaitingForDevice), guards + `"confirmOff":` + asks + `}}}}`, api.AskedConfirmOff},
		"confirm, beyond repair": {func(f *api.NodeFence, p Person) (Change, error) { return ConfirmOff(f, p, api.HardwareFailure) }, fence(api.Fencing, api.WaitingForDevice),
			guards + `"confirmOff":{"at":"2026-01-01T12:00:00Z","by":"ann","fenceNumber":3,"outOfServiceValue":"hardwarefailure","reason":"seen dark"}}}}`, api.AskedConfirmOff},
	} {
		c, err := tc.build(tc.of, ann)
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(tc.want, patch(t, c)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.Asks != tc.asks || !strings.HasPrefix(c.Words(), "Fence 3 of node a1, under policy workers, stands in phase ") {
			t.Errorf("%s: asks %s: %s", name, c.Asks, c.Words())
		}
		if _, err := tc.build(fence(api.Finished, api.Recovered), ann); err == nil || !strings.Contains(err.Error(), "no fence is open") {
			t.Errorf("%s of a fence that is over: %v", name, err)
		}
	}
}

// TestWhatWillBeDone says what a person decides on.
func TestWhatWillBeDone(t *testing.T) {
	cut := func(st *api.NodeFenceStatus) { st.CutOrReleased = true }
	off := func(f *api.NodeFence, p Person) (Change, error) { return ConfirmOff(f, p, "") }
	for name, tc := range map[string]struct {
		build func(*api.NodeFence, Person) (Change, error)
		of    *api.NodeFence
		want  string
	}{
		"a reboot":                  {Approve, fence(api.Pending, api.WaitingForApproval), "- its machine is switched off, and read off twice, by ipmi 192.0.2.7\n- its pods and volumes are released to start elsewhere\n- its machine is switched on again"},
		"a power-off":               {Approve, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Decision.Settings.Action = api.ActionOff }), "stays off until a person switches it on"},
		"an isolation":              {Approve, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Decision.Settings.Action = api.ActionIsolate }), "no device is touched"},
		"nothing is released":       {Approve, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Decision.Settings.Release.Strategy = api.ReleaseNone }), "twice, by ipmi 192.0.2.7\n- its machine"},
		"one that was given up":     {Approve, fence(api.Failed, api.NotApproved), "It was given up: this approval begins nothing before somebody retries it (kubectl fence retry a1). Then the fence begins once all limits allow it:\n- the node is tainted"},
		"given up after the cut":    {Approve, fence(api.Failed, api.DeviceFailed, cut), "after power was cut, or work released: this approval begins nothing. Retry it (kubectl fence retry a1), and approve it then.\n"},
		"one that has begun":        {Approve, fence(api.Fencing, api.PowerOffSent), "It has begun, so this approval is late: it changes nothing unless the fence comes to wait for one.\n"},
		"one that waits anew":       {Approve, fence(api.Fencing, api.WaitingForApproval, cut), "If you approve it, the fence begins once all limits allow it:\n- the node is tainted"},
		"an end before the cut":     {Abort, fence(api.Isolating, api.Isolated), "No power was cut: the fence ends"},
		"an end after the cut":      {Abort, fence(api.Releasing, api.WaitingForRelease, cut), "no further Off is sent"},
		"a fence that was given up": {Retry, fence(api.Failed, api.DeviceFailed), "starts once more"},
		"a machine that stays off":  {Retry, fence(api.Fenced, api.StaysOff, func(st *api.NodeFenceStatus) { st.Power.SwitchedByUs = true }), "The machine is switched on again."},
		"one off by another":        {Retry, fence(api.Fenced, api.StaysOff), "will answer NotNeeded"},
		"a lift before its time":    {Lift, fence(api.Fencing, api.PowerOffSent), "will answer NotNeeded"},
		"a device that is away":     {Retry, fence(api.Fencing, api.WaitingForDevice), "Its device is read now"},
		"a fence that runs":         {Retry, fence(api.Fencing, api.PowerOffSent), "will answer NotNeeded"},
		"a word":                    {off, fence(api.Fencing, api.WaitingForDevice), "IF THE MACHINE IS ON, DATA IS LOST."},
		"a word, given up":          {off, fence(api.Failed, api.DeviceFailed), "IF THE MACHINE IS ON, DATA IS LOST."},
		"a word, no device":         {off, fence(api.Fenced, api.IsolatedOnly), "IF THE MACHINE IS ON, DATA IS LOST."},
		"a word, dumping":           {off, fence(api.Releasing, api.KdumpSeen, func(st *api.NodeFenceStatus) { st.Proof = &api.Proof{Type: api.ProofKdump} }), "IF THE MACHINE IS ON, DATA IS LOST."},
		"a word too late":           {off, fence(api.Releasing, api.SeenOff, cut), "(SeenOff: m).\nNothing waits for your word that the machine is off: nodefence will answer NotNeeded, and nothing changes.\n"},
		"a word after the release":  {off, fence(api.Fenced, api.StaysOff, func(st *api.NodeFenceStatus) { st.Release.DoneAt = &api.Time{} }), "will answer NotNeeded"},
		"a word, on its way back":   {off, fence(api.Recovering, api.NodeHealthy, cut), "will answer NotNeeded"},
	} {
		c, err := tc.build(tc.of, ann)
		if strings.Contains(c.Done, "given back by") {
			t.Errorf("%s: says %q before it is so", name, c.Done)
		}
		if err != nil || !strings.Contains(c.Words(), tc.want) {
			t.Errorf("%s: %v: %s\nwant %s", name, err, c.Words(), tc.want)
		}
	}
}

// TestNothingToDo is said instead of being asked for.
func TestNothingToDo(t *testing.T) {
	enforce := func(st *api.NodeFenceStatus) { st.Decision.Settings.Mode = api.ModeEnforce }
	auto := func(st *api.NodeFenceStatus) { st.Decision.Settings.Recovery.Uncordon = api.UncordonAutomatic }
	if _, err := Approve(fence(api.Fencing, api.PowerOffSent, enforce), ann); err == nil || !strings.Contains(err.Error(), "waits for no approval: policy workers is in mode Enforce") {
		t.Error(err)
	}
	bare := func(st *api.NodeFenceStatus) {
		st.Decision.Trigger.Machine = &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "x"}, State: api.MachineStateNoNode}
	}
	if _, err := ConfirmOff(fence(api.Pending, api.TooManyUnhealthy, bare), ann, ""); err == nil || !strings.Contains(err.Error(), "its fence is of Machine m/x, which has no node") {
		t.Error(err)
	}
	if _, err := Lift(fence(api.Recovering, api.NodeHealthy, auto), ann); err == nil || !strings.Contains(err.Error(), "gives it back by itself") {
		t.Error(err)
	}
}

// TestSame: a change that was built anew is written only if it is about the same fence.
func TestSame(t *testing.T) {
	of := func(change func(*api.NodeFence)) Change {
		f := fence(api.Pending, api.WaitingForApproval)
		change(f)
		c, err := Approve(f, ann)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	shown := of(func(*api.NodeFence) {})
	if !shown.Same(of(func(f *api.NodeFence) { f.ResourceVersion, f.Status.Message = "8", "n" })) {
		t.Error("a later version of the same fence is another change")
	}
	if shown.Same(of(func(f *api.NodeFence) { f.Status.FenceNumber = 4 })) {
		t.Error("the next fence is the same change")
	}
	if shown.Same(of(func(f *api.NodeFence) { f.UID = "v" })) {
		t.Error("another record is the same change")
	}
}

// TestBrakes of one policy and of the whole cluster.
func TestBrakes(t *testing.T) {
	p := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers", UID: "u", ResourceVersion: "7"}}
	l := &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: "cluster", UID: "u", ResourceVersion: "7"}}
	must := func(c Change, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return patch(t, c)
	}
	const guards = `{"metadata":{"resourceVersion":"7","uid":"u"},`
	got := []string{must(Pause(p, "ann"))}
	p.Spec.PauseRequests = []string{"bob"}
	got = append(got, must(Pause(p, "ann")), must(Resume(p, l, "bob")))
	p.Spec.PauseRequests = []string{"ann", "bob"}
	got = append(got, must(Resume(p, l, "ann")))
	got = append(got, must(Stop(l, "")), must(Stop(l, "switches")))
	l.Spec.Stop = true
	got = append(got, must(Start(l)))
	want := []string{
		guards + `"spec":{"pauseRequests":["ann"]}}`, guards + `"spec":{"pauseRequests":["bob","ann"]}}`, guards + `"spec":{"pauseRequests":null}}`, guards + `"spec":{"pauseRequests":["bob"]}}`,
		`{"metadata":{"uid":"u"},"spec":{"stop":true}}`, `{"metadata":{"uid":"u"},"spec":{"stop":true,"stopReason":"switches"}}`, guards + `"spec":{"stop":false,"stopReason":null}}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, no := range []func() (Change, error){
		func() (Change, error) { return Pause(p, "ann") }, func() (Change, error) { return Resume(p, l, "eve") },
		func() (Change, error) { return Stop(l, "") }, func() (Change, error) { l.Spec.Stop = false; return Start(l) },
		func() (Change, error) { p.Spec.PauseRequests = nil; return Resume(p, l, "ann") },
	} {
		if c, err := no(); err == nil {
			t.Errorf("nothing to do, and %s", patch(t, c))
		}
	}
}

// TestAsk: what a FenceRequest says, and what it will do.
func TestAsk(t *testing.T) {
	r := &api.ResolvedPolicy{Policy: api.PolicyRef{Name: "workers"}, Settings: api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot}}
	q, says, err := Ask("a1", "ns", ann, r, observed.Node{}, nil, nil)
	if err != nil || q.GenerateName != "a1-" || q.Namespace != "ns" || q.Spec != (api.FenceRequestSpec{NodeName: "a1", Reason: "seen dark", RequestedBy: "ann"}) {
		t.Errorf("%v: %+v", err, q)
	}
	if !strings.HasPrefix(says[0], "Node a1 is fenced, whether it is healthy or not, as policy workers says") {
		t.Error(says)
	}
	for mode, want := range map[api.Mode]string{api.ModeDryRun: "nothing is touched", api.ModeRequireApproval: "once somebody has approved it (kubectl fence approve a1)"} {
		r.Settings.Mode = mode
		if _, says, _ = Ask("a1", "ns", ann, r, observed.Node{}, nil, nil); !strings.Contains(says[0], want) {
			t.Errorf("%s: %s", mode, says[0])
		}
	}
	r.Settings.Mode = api.ModeEnforce
	if _, says, _ = Ask("a1", "ns", ann, r, observed.Node{}, nil, fence(api.Fencing, api.PowerOffSent)); !strings.Contains(says[0], "Fence 3 of node a1 is open (phase Fencing): this request joins it") {
		t.Error(says)
	}
	target := &api.FenceTarget{}
	target.Status.Devices = []api.TargetDevice{{Driver: "ipmi", Address: "192.0.2.7", Role: api.RolePower}, {Driver: "snmp", Address: "192.0.2.8", Role: api.RoleNetwork}}
	if _, says, _ = Ask("a1", "ns", ann, r, observed.Node{}, target, nil); !strings.Contains(strings.Join(says, "\n"), "read off twice, by ipmi 192.0.2.7\n") {
		t.Error(says)
	}
	for status, warned := range map[metav1.ConditionStatus]bool{metav1.ConditionFalse: true, metav1.ConditionTrue: false, metav1.ConditionUnknown: false} {
		target.Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: status, Reason: "DeviceUnreachable", Message: "no answer"}}
		_, says, _ = Ask("a1", "ns", ann, r, observed.Node{}, target, nil)
		if got := strings.Contains(says[len(says)-1], "THEY COULD NOT FENCE IT (DeviceUnreachable: no answer)"); got != warned {
			t.Errorf("Fenceable is %s: warned %v: %s", status, got, says)
		}
	}
	r.Settings.Excluded = "it is excluded"
	for name, f := range map[string]func() error{
		"--reason": func() error {
			_, _, err := Ask("a1", "ns", Person{Name: "ann"}, r, observed.Node{}, nil, nil)
			return err
		},
		"no FencePolicy": func() error { _, _, err := Ask("a1", "ns", ann, nil, observed.Node{}, nil, nil); return err },
		"excluded":       func() error { _, _, err := Ask("a1", "ns", ann, r, observed.Node{}, nil, nil); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// drillable is a healthy node that a fence of now would fence from end to end.
func drillable() Drilled {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a1"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	target := &api.FenceTarget{}
	n.UID, target.Status.NodeUID = "node", "node"
	read := metav1.NewMicroTime(ann.At.Add(-10 * time.Minute))
	target.Status.Devices = []api.TargetDevice{{Driver: "ipmi", Address: "192.0.2.7", Role: api.RolePower, LastChecked: &read}}
	target.Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: metav1.ConditionTrue}}
	return Drilled{Node: n, Target: target, Ledger: &api.FenceLedger{}, Policy: &api.ResolvedPolicy{Policy: api.PolicyRef{Name: "workers"}, Settings: api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot, PerNode: api.PerNodeSettings{CutsPerDay: 3}}}}
}

// TestDrill is refused where the fence would not run from end to end.
func TestDrill(t *testing.T) {
	q, says, err := Drill(drillable(), "ns", ann)
	if err != nil || q.Spec.Reason != DrillReason || !strings.Contains(says[0], "fenced for real") {
		t.Errorf("%v: %+v: %v", err, q, says)
	}
	manual := drillable()
	manual.Policy.Settings.Recovery.Uncordon = api.UncordonManual
	if _, says, err = Drill(manual, "ns", ann); err != nil || !strings.Contains(strings.Join(says, "\n"), "given the node back (kubectl fence lift a1)") {
		t.Errorf("%v: %v", err, says)
	}
	for want, spoil := range map[string]func(*Drilled){
		"a fence is open":        func(d *Drilled) { d.Fence = fence(api.Pending, api.Paused) },
		"not Ready":              func(d *Drilled) { d.Node.Status.Conditions[0].Status = corev1.ConditionUnknown },
		"it is cordoned":         func(d *Drilled) { d.Node.Spec.Unschedulable = true },
		"no FencePolicy":         func(d *Drilled) { d.Policy = nil },
		"stopped in the whole":   func(d *Drilled) { d.Ledger.Spec.Stop = true },
		"mode DryRun":            func(d *Drilled) { d.Policy.Settings.Mode = api.ModeDryRun },
		"a drill needs Reboot":   func(d *Drilled) { d.Policy.Settings.Action = api.ActionOff },
		"has not read its":       func(d *Drilled) { d.Target = nil },
		"could not fence it":     func(d *Drilled) { d.Target.Status.Conditions[0].Status = metav1.ConditionFalse },
		"of an earlier Node":     func(d *Drilled) { d.Node.UID = "new" },
		"not read within 1h0m0s": func(d *Drilled) { d.Target.Status.Devices[0].LastChecked.Time = ann.At.Add(-2 * time.Hour) },
		"was not read":           func(d *Drilled) { d.Target.Status.Devices[0].LastChecked = nil },
		"would not be fenced: x": func(d *Drilled) { d.Policy.Settings.Excluded = "x" },
	} {
		d := drillable()
		spoil(&d)
		if _, _, err := Drill(d, "ns", ann); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

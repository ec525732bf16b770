package cluster

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
)

// conflicting is a client of an API server that has the version 8 of an object, refuses to write any
// other, and counts what it wrote.
func conflicting(t *testing.T) (*Client, *int) {
	t.Helper()
	wrote := 0
	cfg := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body metav1.PartialObjectMetadata
		_ = json.NewDecoder(r.Body).Decode(&body)
		if v := body.ResourceVersion; v != "" && v != "8" {
			kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		wrote++
		kubetest.Answer(w, corev1.Node{})
	}))
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, &wrote
}

// TestCarry: what a person agreed to is written to what they were shown, and to nothing else.
func TestCarry(t *testing.T) {
	ann := act.Person{Name: "ann", At: metav1.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	record := func(version string, change func(*api.NodeFenceStatus)) *api.NodeFence {
		f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: version}, Spec: api.NodeFenceSpec{NodeName: "a"}}
		st := &f.Status
		st.FenceNumber, st.Phase, st.Reason = 3, api.Pending, api.WaitingForApproval
		st.Decision.Settings.Mode, st.Decision.Settings.Action = api.ModeRequireApproval, api.ActionIsolate
		change(st)
		return f
	}
	approve := func(f *api.NodeFence) (act.Change, error) { return act.Approve(f, ann) }
	confirm := func(f *api.NodeFence) (act.Change, error) { return act.ConfirmOff(f, ann, "") }
	abort := func(f *api.NodeFence) (act.Change, error) { return act.Abort(f, ann) }
	retry := func(f *api.NodeFence) (act.Change, error) { return act.Retry(f, ann) }
	later := func(s int) *api.Time { x := metav1.NewMicroTime(ann.At.Add(time.Duration(s) * time.Second)); return &x }
	for name, tc := range map[string]struct {
		build  func(*api.NodeFence) (act.Change, error)
		change func(*api.NodeFenceStatus)
		writes bool
	}{
		"approve, another message":    {approve, func(st *api.NodeFenceStatus) { st.Message = "n" }, true},
		"approve, another action":     {approve, func(st *api.NodeFenceStatus) { st.Decision.Settings.Action = api.ActionReboot }, false},
		"approve, another device":     {approve, func(st *api.NodeFenceStatus) { st.Decision.Devices = []api.Binding{{Driver: "ipmi"}} }, false},
		"approve, another generation": {approve, func(st *api.NodeFenceStatus) { st.Decision.Policy.Generation++ }, false},
		"approve, another fence":      {approve, func(st *api.NodeFenceStatus) { st.FenceNumber++ }, false},
		"confirm, another message":    {confirm, func(st *api.NodeFenceStatus) { st.Message = "n" }, true},
		"confirm, another phase":      {confirm, func(st *api.NodeFenceStatus) { st.Phase = api.Fencing }, false},
		"confirm, the phase anew":     {confirm, func(st *api.NodeFenceStatus) { st.PhaseSince = later(1) }, false},
		"confirm, cut again":          {confirm, func(st *api.NodeFenceStatus) { st.Power.Cuts++ }, false},
		"confirm, switched on":        {confirm, func(st *api.NodeFenceStatus) { st.Power.OnAt = later(1) }, false},
		"abort, cut meanwhile":        {abort, func(st *api.NodeFenceStatus) { st.Phase, st.CutOrReleased = api.Fencing, true }, true},
		"retry, given up meanwhile":   {retry, func(st *api.NodeFenceStatus) { st.Phase = api.Failed }, false},
	} {
		c, wrote := conflicting(t)
		shown, err := tc.build(record("7", func(*api.NodeFenceStatus) {}))
		if err != nil {
			t.Fatal(name, err)
		}
		err = c.Carry(t.Context(), shown, DryRunNone, func(context.Context) (act.Change, error) { return tc.build(record("8", tc.change)) })
		if (*wrote == 1) != tc.writes || (err == nil) != tc.writes || err != nil && !strings.Contains(err.Error(), "has changed since it was shown") {
			t.Errorf("%s: %d writes: %v", name, *wrote, err)
		}
	}
}

// TestCarryOfTheSwitch: a stop waits for nothing, and a start undoes only the stop that was shown.
func TestCarryOfTheSwitch(t *testing.T) {
	ledger := func(version, why string) *api.FenceLedger {
		return &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, UID: "u", ResourceVersion: version}, Spec: api.FenceLedgerSpec{Stop: why != "", StopReason: why}}
	}
	for why, writes := range map[string]int{"switches": 1, "a fire": 0} {
		c, wrote := conflicting(t)
		shown, _ := act.Start(ledger("7", "switches"))
		err := c.Carry(t.Context(), shown, DryRunNone, func(context.Context) (act.Change, error) { return act.Start(ledger("8", why)) })
		if *wrote != writes || (err == nil) != (writes == 1) {
			t.Errorf("stopped for %s since: %d writes: %v", why, *wrote, err)
		}
	}
	c, wrote := conflicting(t)
	stop, _ := act.Stop(ledger("7", ""), "a fire")
	if err := c.Carry(t.Context(), stop, DryRunNone, nil); err != nil || *wrote != 1 {
		t.Errorf("a stop: %d writes: %v", *wrote, err)
	}
	policy := func(version string, names ...string) *api.FencePolicy {
		return &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: version}, Spec: api.FencePolicySpec{PauseRequests: names}}
	}
	c, wrote = conflicting(t)
	pause, _ := act.Pause(policy("7"), "ann")
	if err := c.Carry(t.Context(), pause, DryRunNone, func(context.Context) (act.Change, error) { return act.Pause(policy("8", "bob"), "ann") }); err != nil || *wrote != 1 {
		t.Errorf("a pause beside another: %d writes: %v", *wrote, err)
	}
}

// TestABrakeIsNotRefusedForItsName: where the API server does not take the name beside a brake, as with older CRDs, the
// brake is written without. Nothing else is written twice.
func TestABrakeIsNotRefusedForItsName(t *testing.T) {
	var bodies []string
	for reason, code := range map[metav1.StatusReason]int32{metav1.StatusReasonBadRequest: http.StatusBadRequest, metav1.StatusReasonInvalid: http.StatusUnprocessableEntity, metav1.StatusReasonForbidden: http.StatusForbidden} {
		bodies = nil
		c, err := New(kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bodies = append(bodies, string(body)); strings.Contains(string(body), "stopChanged") {
				kubetest.Refuse(w, code, reason)
				return
			}
			kubetest.Answer(w, corev1.Node{})
		})))
		if err != nil {
			t.Fatal(err)
		}
		stop, _ := act.Stop(&api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, UID: "u"}}, "a fire")
		err = c.Carry(t.Context(), stop.NamedBy(act.Person{Name: "ann"}, time.Unix(0, 0)), DryRunNone, nil)
		if want := map[bool]int{true: 1, false: 2}[reason == metav1.StatusReasonForbidden]; len(bodies) != want || (err == nil) != (want == 2) {
			t.Errorf("%s: %v: %q", reason, err, bodies)
		}
	}
}

// TestAWriteOutlivesCtrlC: the API server may carry it out, and what was created can be withdrawn by its name
// alone. None begins after Ctrl-C.
func TestAWriteOutlivesCtrlC(t *testing.T) {
	var interrupt func()
	wrote := 0
	c, err := New(kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		wrote++
		interrupt()
		kubetest.Answer(w, api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Name: "a-x7k2p"}})
	})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	interrupt = cancel
	q, err := c.Ask(ctx, &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}}, DryRunNone)
	if err != nil || q.Name != "a-x7k2p" {
		t.Errorf("%+v: %v", q, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	interrupt = cancel
	if err := c.Patch(ctx, "nodefences", "a", map[string]any{}, DryRunNone); err != nil || ctx.Err() == nil {
		t.Error(err)
	}
	if err := c.Patch(ctx, "nodefences", "a", map[string]any{}, DryRunNone); err == nil || wrote != 2 {
		t.Errorf("%d writes: %v", wrote, err)
	}
}

// TestAWriteThatIsGivenUp says what is not known.
func TestAWriteThatIsGivenUp(t *testing.T) {
	err := Explain(unsure(&url.Error{Op: "Post", URL: "https://192.0.2.7", Err: context.Canceled}, "whether it was created"))
	if want := "interrupted, and the API server has not answered within 10s: whether it was created is not known; look before you repeat it"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := Explain(&url.Error{Op: "Get", URL: "https://192.0.2.7", Err: context.Canceled}); err.Error() != "interrupted" {
		t.Error(err)
	}
}

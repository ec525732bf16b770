package act

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func hour(h int) *api.Time {
	t := metav1.NewMicroTime(time.Date(2026, 1, 1, h, 0, 0, 123456000, time.UTC))
	return &t
}

func ledger(change func(*api.FenceLedger)) *api.FenceLedger {
	l := &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, UID: "u", ResourceVersion: "7"}}
	change(l)
	return l
}

const ledgerGuards = `{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{`

// TestConfirmRestore: the word is about the restore that was shown, and about no other one (S16).
func TestConfirmRestore(t *testing.T) {
	restored := func(l *api.FenceLedger) {
		l.Status.Restored = &api.Restored{SeenAt: *hour(12), From: "1000", To: "600"}
	}
	said := func(h int) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) {
			restored(l)
			l.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "bob", SeenAt: *hour(h)}
		}
	}
	for name, tc := range map[string]struct {
		of        func(*api.FenceLedger)
		says, err string
	}{
		"no restore":           {func(*api.FenceLedger) {}, "", "FenceLedger cluster: nodefence has not seen the API server's state go back in time, so there is nothing to confirm"},
		"a restore":            {restored, "was 1000, and was 600 at 2026-01-01T12:00:00Z.", ""},
		"a word of an earlier": {said(11), "was 1000, and was 600 at 2026-01-01T12:00:00Z.", ""},
		"confirmed already":    {said(12), "", "FenceLedger cluster: bob has confirmed the restore of 2026-01-01T12:00:00Z already"},
		"stopped too":          {func(l *api.FenceLedger) { restored(l); l.Spec.Stop = true }, "fencing is stopped in the whole cluster (kubectl fence start)", ""},
	} {
		c, err := ConfirmRestore(ledger(tc.of), ann)
		if tc.err != "" || err != nil {
			if err == nil || err.Error() != tc.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := ledgerGuards + `"restoreConfirmed":{"by":"ann","seenAt":"2026-01-01T12:00:00.123456Z"}}}`
		if d := cmp.Diff(want, patch(t, c)); d != "" || !strings.Contains(c.Words(), tc.says) {
			t.Errorf("%s: %s%s", name, d, c.Words())
		}
	}
	before, _ := ConfirmRestore(ledger(restored), ann)
	if now, _ := ConfirmRestore(ledger(func(l *api.FenceLedger) { restored(l); l.Status.Restored.SeenAt = *hour(13) }), ann); now.Same(before) {
		t.Error("another restore is confirmed than was shown")
	}
}

// TestEndCoolDown: the word names the cool-downs that were shown, and those that were ended before and are not over (S15).
func TestEndCoolDown(t *testing.T) {
	storms := func(all ...api.Storm) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) { l.Status.Storms = all }
	}
	early, late := api.Storm{Policy: "workers", CoolDownUntil: hour(13)}, api.Storm{Policy: "racks", TopologyKey: "rack", Domain: "7", CoolDownUntil: hour(14)}
	alike := api.Storm{Policy: "alike", CoolDownUntil: hour(13)}
	over := api.Storm{Policy: "over", CoolDownUntil: hour(11)}
	under := api.Storm{Policy: "edge", Message: "5 of 9"}
	for name, tc := range map[string]struct {
		of               func(*api.FenceLedger)
		until, also, err string
		says             []string
	}{
		"no storm":          {storms(), "", "", "no cool-down is under way, so there is nothing to end", nil},
		"a storm, not over": {storms(under), "", "", "no cool-down is under way, so there is nothing to end; storms are (kubectl fence status)", nil},
		"two, and a storm": {storms(early, under, late, alike), "14", `["2026-01-01T13:00:00.123456Z"]`, "", []string{
			"After a storm no fence begins before its cool-down is over. You end these cool-downs:",
			"- under policy workers, until 2026-01-01T13:00:00Z", `- under policy racks, rack "7", until 2026-01-01T14:00:00Z`, "- under policy alike, until 2026-01-01T13:00:00Z",
			"- the storm under policy edge is not over, and still holds fences",
			"Fences may begin again within all limits, at once for nodes that are unhealthy now, and power-offs are sent again.",
		}},
		"one is ended already": {func(l *api.FenceLedger) {
			storms(early, late)(l)
			l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "bob", Until: *hour(13)}
		}, "14", `["2026-01-01T13:00:00.123456Z"]`, "", []string{
			"After a storm no fence begins before its cool-down is over. You end these cool-downs:",
			`- under policy racks, rack "7", until 2026-01-01T14:00:00Z`,
			"Fences may begin again within all limits, at once for nodes that are unhealthy now, and power-offs are sent again.",
		}},
		"one is over": {storms(over, early), "13", "null", "", []string{
			"After a storm no fence begins before its cool-down is over. You end these cool-downs:",
			"- under policy workers, until 2026-01-01T13:00:00Z",
			"Fences may begin again within all limits, at once for nodes that are unhealthy now, and power-offs are sent again.",
		}},
		"all are over": {storms(over), "", "", "no cool-down is under way, so there is nothing to end", nil},
		"all are": {func(l *api.FenceLedger) {
			storms(early)(l)
			l.Spec.CoolDownEnded = &api.CoolDownEnded{By: "bob", Until: *hour(13)}
		}, "", "", "no cool-down is under way, so there is nothing to end", nil},
	} {
		c, err := EndCoolDown(ledger(tc.of), ann)
		if tc.err != "" || err != nil {
			if err == nil || err.Error() != "FenceLedger cluster: "+tc.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := ledgerGuards + `"coolDownEnded":{"alsoUntil":` + tc.also + `,"by":"ann","reason":"seen dark","until":"2026-01-01T` + tc.until + `:00:00.123456Z"}}}`
		if d := cmp.Diff(want, patch(t, c)) + cmp.Diff(tc.says, c.Says); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	before, _ := EndCoolDown(ledger(storms(early)), ann)
	if now, _ := EndCoolDown(ledger(storms(early, late)), ann); now.Same(before) {
		t.Error("a cool-down is ended that was not shown")
	}
}

// TestWhatStillHoldsAll: nobody reads that fences begin again where a stop, or a restore that nobody has confirmed,
// holds all of them (S16).
func TestWhatStillHoldsAll(t *testing.T) {
	const yet, stopped, restored = "No fence begins yet all the same: ", "fencing is stopped in the whole cluster (kubectl fence start).", "the API server's state went back in time, and nobody has confirmed that (kubectl fence confirm-restore)."
	resume := func(l *api.FenceLedger) (Change, error) {
		return Resume(&api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers"}, Spec: api.FencePolicySpec{PauseRequests: []string{"ann"}}}, l, "ann")
	}
	start := func(l *api.FenceLedger) (Change, error) { l.Spec.Stop = true; return Start(l) }
	confirm := func(l *api.FenceLedger) (Change, error) {
		l.Status.Restored = &api.Restored{SeenAt: *hour(12)}
		return ConfirmRestore(l, ann)
	}
	coolDown := func(l *api.FenceLedger) (Change, error) {
		l.Status.Storms = []api.Storm{{Policy: "workers", CoolDownUntil: hour(13)}}
		return EndCoolDown(l, ann)
	}
	for name, tc := range map[string]struct {
		build                   func(*api.FenceLedger) (Change, error)
		calm, stopped, restored string
	}{
		"start":           {start, "Fences may begin again in the whole cluster, ", "Fences may begin again in the whole cluster, ", yet + restored},
		"resume":          {resume, "Fences may begin again under policy workers, ", yet + stopped, yet + restored},
		"confirm-restore": {confirm, "Fences may begin again within all limits, ", yet + stopped, "Fences may begin again within all limits, "},
		"end-cool-down":   {coolDown, "Fences may begin again within all limits, ", yet + stopped, yet + restored},
	} {
		for want, change := range map[*string]func(*api.FenceLedger){
			&tc.calm:     func(*api.FenceLedger) {},
			&tc.stopped:  func(l *api.FenceLedger) { l.Spec.Stop = true },
			&tc.restored: func(l *api.FenceLedger) { l.Status.Restored = &api.Restored{SeenAt: *hour(12)} },
		} {
			c, err := tc.build(ledger(change))
			if err != nil || !strings.HasPrefix(c.Says[len(c.Says)-1], *want) {
				t.Errorf("%s: %v: %q, want %q", name, err, c.Says, *want)
			}
		}
	}
}

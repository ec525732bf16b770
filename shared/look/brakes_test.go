package look_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

const aLease = `{"metadata":{"name":"a"},"spec":{"renewTime":"2026-05-01T12:00:00.123456Z","leaseDurationSeconds":8}}`

// keptOff is a census in which node b was proven off, and stays so.
const keptOff = `"census":{"observedAt":"2026-05-01T12:01:31.000000Z","fences":[{"nodeName":"b","fenceUID":"x","version":"1","phase":"Fenced","marks":["Served"]}]}`

// TestLook: what a decision is based on, as the API server has it.
func TestLook(t *testing.T) {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{UID: "f1"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 2, Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Limits: []api.ScopedLimits{{Policy: "first"}, {Policy: "second"}}}}}}
	seenLease := observed.Lease{Exists: true, Renewed: "2026-05-01T12:00:00.123456Z", Renewal: 2 * time.Second}
	still := seenLease
	still.StillSince = noon
	for name, c := range map[string]struct {
		lease, ledger string
		// policy is the one that the second of its limits is of.
		policy string
		want   observed.Look
	}{
		"nothing stands against it": {aLease, `{}`, "", observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"no Lease":                  {"", `{}`, "", observed.Look{Brakes: observed.Brakes{Looked: true}}},
		"the source has seen the Lease stand": {aLease, `{"status":{"leases":{"still":[{"nodeName":"a","renewed":"2026-05-01T12:00:00.123456Z","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			observed.Look{Lease: still, Brakes: observed.Brakes{Looked: true}}},
		"the Lease has moved since": {aLease, `{"status":{"leases":{"still":[{"nodeName":"a","renewed":"2026-05-01T11:00:00Z","since":"2026-05-01T11:00:00.000000Z"}]}}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"another node's Lease stands": {aLease, `{"status":{"leases":{"still":[{"nodeName":"b","renewed":"2026-05-01T12:00:00.123456Z","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"its slot": {aLease, `{"status":{"reservations":[{"nodeName":"a","fenceUID":"f1","fenceNumber":2,"at":"2026-05-01T12:00:00.123456Z"}]}}`, "",
			observed.Look{Lease: seenLease, Reserved: &noon, Brakes: observed.Brakes{Looked: true}}},
		"what it would have under Enforce": {aLease, `{"status":{"dryRuns":[{"nodeName":"a","fenceUID":"f1","fenceNumber":2,"at":"2026-05-01T12:00:00.123456Z","drain":true}]}}`, "",
			observed.Look{Lease: seenLease, DryRun: &observed.DryRun{At: noon, Drain: true}, Brakes: observed.Brakes{Looked: true}}},
		"an earlier fence's slot": {aLease, `{"status":{"reservations":[{"nodeName":"a","fenceUID":"f1","fenceNumber":1,"at":"2026-05-01T12:00:00.123456Z"}]}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"a storm": {aLease, `{"status":{"storms":[{"policy":"second","since":"2026-05-01T12:00:00.123456Z","domain":"","message":"5 of 9"}]}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Storm: true, Message: "policy second: 5 of 9"}}},
		"another policy's storm": {aLease, `{"status":{"storms":[{"policy":"third","since":"2026-05-01T12:00:00.123456Z","domain":"","message":"5 of 9"}]}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"most Leases stand still (S16)": {aLease, `{"status":{"leases":{"total":3,"still":[{"nodeName":"b","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"},{"nodeName":"c","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"}]}}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Storm: true, Why: "MostLeasesStale", Message: "2 of 3 Leases stand still: it may be we who are cut off"}}},
		"beside machines that are kept off": {aLease, `{"status":{"leases":{"total":3,"still":[{"nodeName":"b","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"},{"nodeName":"c","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"}]},` + keptOff + `}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"that, and most others": {aLease, `{"status":{"leases":{"total":4,"still":[{"nodeName":"b","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"},{"nodeName":"c","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"},{"nodeName":"d","stale":true,"renewed":"x","since":"2026-05-01T12:00:00.123456Z"}]},` + keptOff + `}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Storm: true, Why: "MostLeasesStale", Message: "2 of 3 Leases stand still, beside 1 of machines that are kept off: it may be we who are cut off"}}},
		"the stop switch": {aLease, `{"spec":{"stop":true}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Stopped: true, Why: "Stopped", Message: "the ledger's stop switch is on"}}},
		"a restore": {aLease, `{"status":{"restored":{"seenAt":"2026-05-01T12:00:00.123456Z","from":"9","to":"7"}}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Stopped: true, Why: "StateWentBack",
				Message: "the API server's state went back in time: the ledger's resourceVersion was 9, and was 7 at 2026-05-01T12:00:00Z; a person must confirm (spec.restoreConfirmed of FenceLedger cluster)"}}},
		"a restore that was confirmed": {aLease, `{"spec":{"restoreConfirmed":{"by":"anna","seenAt":"2026-05-01T12:00:00.123456Z"}},"status":{"restored":{"seenAt":"2026-05-01T12:00:00.123456Z","from":"9","to":"7"}}}`, "",
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
		"a policy that is paused now": {aLease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["anna"]}}`,
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Paused: true, Message: "policy second is paused by anna"}}},
		"a policy that somebody pauses": {aLease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["upgrade","anna"]}}`,
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Paused: true, Message: "policy second is paused by upgrade, anna"}}},
		"a policy with a pause window": {aLease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseWindows":[{"start":"22:00","duration":"8h"}]}}`,
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true, Windows: []policy.Windows{{Policy: "second", Windows: []api.PauseWindowRule{{Start: "22:00", Duration: "8h"}}}}}}},
		"a policy that is not paused": {aLease, `{}`, `{"metadata":{"name":"second"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot"}}`,
			observed.Look{Lease: seenLease, Brakes: observed.Brakes{Looked: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &served{objects: map[string]string{ledgerPath: c.ledger}}
			if c.lease != "" {
				s.objects[leasePath] = c.lease
			}
			policies := `{"metadata":{"name":"third"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","pauseRequests":["anna"]}}`
			if c.policy != "" {
				policies += "," + c.policy
			}
			s.objects[policiesPath] = `{"items":[` + policies + `]}`
			client := s.client(t)
			var seen observed.Look
			if err := readNodeAndLease(t.Context(), client.NewReader(0), f, &seen); err != nil {
				t.Fatal(err)
			}
			if err := look.Brakes(t.Context(), client.NewReader(0), f, &seen, false); err != nil {
				t.Fatal(err)
			}
			c.want.Brakes.Unwatched = unwatched
			if d := cmp.Diff(c.want, seen); d != "" {
				t.Error(d)
			}
		})
	}
}

// unwatched: none of these ledgers says when anybody has drawn into it.
const unwatched = "nobody has watched the Leases yet"

// TestNoPolicySelectsTheNode: an admin who deletes a policy expects that no fence begins
// under it. A fence that was not begun ends, and a fence that was begun sends no further
// Off (S17, S25).
func TestNoPolicySelectsTheNode(t *testing.T) {
	const words = "no FencePolicy selects this node any more; it was fenced under policy mine"
	const mine, other = `{"metadata":{"name":"mine"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","precedence":1}}`, `{"metadata":{"name":"other"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","precedence":2}}`
	ends := observed.Brakes{Looked: true, Gone: true, Why: api.PolicyDeleted, Message: words}
	other2 := observed.Brakes{Looked: true, Changed: true, Stricter: true, Why: api.PolicyChanged, Message: "policy other decides for this node now; it was admitted under policy mine"}
	for name, c := range map[string]struct {
		policies, ledger string
		begun            bool
		want             observed.Brakes
	}{
		"it is there":                     {mine + "," + other, `{}`, false, observed.Brakes{Looked: true}},
		"it is deleted":                   {"", `{}`, false, ends},
		"deleted after the Off":           {"", `{}`, true, observed.Brakes{Looked: true, Stopped: true, Why: api.PolicyDeleted, Message: words + ": no further power is cut until one does"}},
		"deleted, and everything stopped": {"", `{"spec":{"stop":true}}`, false, observed.Brakes{Looked: true, Stopped: true, Why: api.Stopped, Message: "the ledger's stop switch is on"}},
		"another one decides":             {other, `{}`, false, other2},
		"another's limits are gone":       {mine, `{}`, false, observed.Brakes{Looked: true, Changed: true}},
		"it has chosen other nodes since": {`{"metadata":{"name":"mine"},"spec":{"mode":"Enforce","action":"Reboot","selector":{"matchLabels":{"x":"y"}}}}`, `{}`, false, ends},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "mine"}, Settings: api.Settings{Mode: api.ModeEnforce, Action: api.ActionReboot}, Limits: []api.ScopedLimits{{Policy: "mine"}, {Policy: "other"}}}}}}
			f.Status.Power.SwitchedByUs = c.begun
			s := &served{objects: map[string]string{ledgerPath: c.ledger, policiesPath: `{"items":[` + c.policies + `]}`}}
			seen := observed.Look{Node: observed.Node{Exists: true}}
			if err := look.Brakes(t.Context(), s.client(t).NewReader(0), f, &seen, false); err != nil {
				t.Fatal(err)
			}
			c.want.Unwatched = unwatched
			if d := cmp.Diff(c.want, seen.Brakes); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWhatCannotBeSeenIsNotSeen: if a part of a look fails, nothing in it says that all is
// well.
func TestWhatCannotBeSeenIsNotSeen(t *testing.T) {
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Limits: []api.ScopedLimits{{Policy: "p"}}}}}}
	for _, path := range []string{nodePath, leasePath, ledgerPath, policiesPath} {
		t.Run(path, func(t *testing.T) {
			s := &served{
				objects: map[string]string{nodePath: `{"metadata":{"name":"a","uid":"u1"}}`, ledgerPath: `{}`, policiesPath: `{"items":[]}`},
				refused: map[string]int32{path: http.StatusServiceUnavailable},
			}
			client := s.client(t)
			var seen observed.Look
			err := readNodeAndLease(t.Context(), client.NewReader(0), f, &seen)
			if err == nil {
				err = look.Brakes(t.Context(), client.NewReader(0), f, &seen, false)
			}
			if err == nil || seen.Brakes.Looked {
				t.Errorf("%v, %+v", err, seen)
			}
		})
	}
}

// readNodeAndLease reads the node and its Lease.
func readNodeAndLease(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	if err := look.Node(ctx, c, f, seen); err != nil {
		return err
	}
	return look.Lease(ctx, c, f, seen)
}

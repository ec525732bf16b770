package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// TestWatchPrintsANoteOnce, once more if it has come anew, and that it is gone.
func TestWatchPrintsANoteOnce(t *testing.T) {
	s := view.Seen{Policies: make([]api.FencePolicy, 1)}
	var was printed
	for i, step := range []struct {
		paused []string
		want   int
	}{{[]string{"ann"}, 1}, {[]string{"ann"}, 0}, {[]string{"ann", "bob"}, 2}, {nil, 1}, {[]string{"ann"}, 1}} {
		s.Policies[0].Spec.PauseRequests = step.paused
		if notes, _ := was.changed(&s); len(notes) != step.want {
			t.Errorf("step %d: %d notes, want %d: %s", i, len(notes), step.want, notes)
		}
	}
}

// TestWatchGoesOnWithANote whose numbers change: that is no end of it.
func TestWatchGoesOnWithANote(t *testing.T) {
	at := metav1.NowMicro()
	s := view.Seen{Ledger: &api.FenceLedger{}, Now: at.Time}
	s.Ledger.Status.Leases.ObservedAt = &at
	var was printed
	for i, step := range []struct {
		message string
		want    []string
	}{
		{"12 of 100 nodes", []string{"no fence begins: Storm: 12 of 100 nodes"}},
		{"13 of 100 nodes", []string{"no fence begins: Storm: 13 of 100 nodes"}},
		{"13 of 100 nodes", nil},
		{"", []string{"no longer: no fence begins: Storm: 13 of 100 nodes"}},
	} {
		s.Ledger.Status.Conditions = nil
		if step.message != "" {
			s.Ledger.Status.Conditions = []metav1.Condition{{Type: "AcceptingFences", Status: metav1.ConditionFalse, Reason: "Storm", Message: step.message}}
		}
		if notes, _ := was.changed(&s); !slices.Equal(notes, step.want) {
			t.Errorf("step %d: %q, want %q", i, notes, step.want)
		}
	}
}

// TestWatchOutlivesALookThatFails, unless nobody may look any more.
func TestWatchOutlivesALookThatFails(t *testing.T) {
	for status, goesOn := range map[int]bool{http.StatusInternalServerError: true, http.StatusForbidden: false} {
		s, looks := failing(), 0
		policies := s[own+"fencepolicies"]
		s[own+"fencepolicies"] = func() any {
			if looks++; looks == 2 {
				return status
			}
			return policies
		}
		got := s.watched(t, 2)
		if said := strings.Contains(got.errors, "note: nothing is seen now, and it is tried again within 30s: "); said != goesOn || (got.code == 0) != goesOn || strings.Contains(got.out, "Unknown") != goesOn {
			t.Errorf("%d: exit code %d: %s%s", status, got.code, got.out, got.errors)
		}
	}
}

// failing is a cluster in which no watch speaks. Its node a fails after the first look, and at the second one
// nodefence is seen to be dead.
func failing() served {
	s, looks := calm(), 0
	s[own+"nodefences"] = json.RawMessage(`{"items":[]}`)
	s["/api/v1/nodes"] = func() any {
		ready := "True"
		if looks++; looks > 1 {
			ready = "Unknown"
		}
		return json.RawMessage(`{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}]}`)
	}
	s[own+"fenceledgers/cluster"] = func() any { // it is read after the nodes
		at := stamp(time.Second)
		if looks == 2 {
			at = stamp(time.Hour)
		}
		return json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},"status":{"leases":{"observedAt":"` + at + `"}}}`)
	}
	return s
}

// watched runs status -w until it has looked so often again.
func (s served) watched(t *testing.T, often int, args ...string) told {
	t.Helper()
	again := make(chan time.Time)
	s["again"] = again
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		for range often + 1 { // each is heard once what the one before has brought was printed
			select {
			case again <- time.Time{}:
			case <-ctx.Done():
			}
		}
		end()
	}()
	return s.runIn(ctx, t, nil, io.Discard, false, append([]string{"status", "-w"}, args...)...)
}

// TestWatchOfADeadNodefence: no watch speaks any more, and the node that fails is shown all the same, with the note
// that nodefence does not look, until it does again.
func TestWatchOfADeadNodefence(t *testing.T) {
	got := failing().watched(t, 2)
	rows := regexp.MustCompile(` +`).ReplaceAllString(got.out, " ")
	const want = "NODE READY POLICY STATE REASON SINCE\na True workers Watched - -\na Unknown workers Unfenced - -\n"
	notes := strings.Split(got.errors, "\n")
	if got.code != 0 || rows != want || len(notes) != 3 || !strings.HasPrefix(notes[0], "note: nodefence has not looked at the Leases since ") ||
		notes[1] != strings.Replace(notes[0], "note: ", "note: no longer: ", 1) {
		t.Errorf("exit code %d: %q\n%s", got.code, rows, got.errors)
	}
}

// TestWatchInYAML is a stream of documents.
func TestWatchInYAML(t *testing.T) {
	got := failing().watched(t, 1, "-o", "yaml")
	docs := strings.Split(got.out, "---\n")
	if got.code != 0 || len(docs) != 2 || !strings.Contains(docs[0], "state: Watched\n") || !strings.Contains(docs[1], "state: Unfenced\n") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errors)
	}
}

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	since := metav1.NewMicroTime(at.Add(-time.Hour))
	s.Ledger.Status.Leases = api.LeasePicture{ObservedAt: &at, Since: &since, Total: 100}
	var was printed
	for i, step := range []struct {
		message string
		want    []string
	}{
		{"12 of 100 nodes", []string{"Storm over policy p: 12 of 100 nodes. No fence begins there."}},
		{"13 of 100 nodes", []string{"Storm over policy p: 13 of 100 nodes. No fence begins there."}},
		{"13 of 100 nodes", nil},
		{"", []string{"no longer: Storm over policy p: 13 of 100 nodes. No fence begins there."}},
	} {
		s.Ledger.Status.Storms = nil
		if step.message != "" {
			s.Ledger.Status.Storms = []api.Storm{{Policy: "p", Message: step.message}}
		}
		if notes, _ := was.changed(&s); !slices.Equal(notes, step.want) {
			t.Errorf("step %d: %q, want %q", i, notes, step.want)
		}
	}
}

// live is a cluster whose node a is Ready. A test says what becomes of it: a watch has what is sent by its channel.
type live struct {
	served
	nodes, ledgers chan string
	// dead: nodefence looks at the Leases no more.
	dead atomic.Bool
	// old is the ledger of a dead one, the same at each read.
	old string
	// lists counts the lists of nodes.
	lists atomic.Int32
}

func alive() *live {
	c := &live{served: calm(), nodes: make(chan string), ledgers: make(chan string), old: ledger(time.Hour)}
	c.served[own+"nodefences"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFenceList","metadata":{"resourceVersion":"1"},"items":[]}`)
	c.served["/api/v1/nodes"] = func() any {
		c.lists.Add(1)
		return json.RawMessage(`{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[` + node("True") + `]}`)
	}
	c.served[own+"fenceledgers"] = func() any {
		return json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedgerList","metadata":{"resourceVersion":"1"},"items":[` + ledger(time.Second) + `]}`)
	}
	c.served[own+"fenceledgers/cluster"] = func() any {
		if c.dead.Load() {
			return json.RawMessage(c.old)
		}
		return json.RawMessage(ledger(time.Second))
	}
	c.served["watch /api/v1/nodes"], c.served["watch "+own+"fenceledgers"] = c.nodes, c.ledgers
	return c
}

// node is node a, whose Ready condition is that.
func node(ready string) string {
	return `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","resourceVersion":"1"},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}`
}

// ledger is the FenceLedger of a nodefence that looked at the Leases so long ago.
func ledger(ago time.Duration) string {
	return `{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster","resourceVersion":"1"},"status":{"leases":{"observedAt":"` + stamp(ago) + `","since":"` + stamp(2*time.Hour) + `","renewal":"10s","total":1}}}`
}

// modified is the event of a watch.
func modified(object string) string { return `{"type":"MODIFIED","object":` + object + `}` }

// step is what becomes of a cluster once something was printed, and at least three more looks are over.
type step struct {
	printed string
	then    func()
}

// said is what was printed.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *said) has(words string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), words)
}

// watched runs status -w with these steps, and ends it once the last one is over.
func (c *live) watched(t *testing.T, steps []step, args ...string) told {
	t.Helper()
	again, all := make(chan time.Time), &said{}
	c.served["again"], c.served["printed"] = again, all
	ctx, end := context.WithTimeout(t.Context(), time.Minute) // only ends a broken test
	defer end()
	go func() {
		defer end()
		for _, s := range steps {
			for looks := 0; looks < 3 || !all.has(s.printed); looks++ {
				select {
				case again <- time.Time{}: // it is heard once what came before was printed
				case <-ctx.Done():
					return
				}
			}
			if s.then != nil {
				s.then()
			}
		}
	}()
	return c.runIn(ctx, t, nil, all, false, append([]string{"status", "-w"}, args...)...)
}

// TestWatchOfADeadNodefence: the node that fails is shown all the same, with the note that nodefence does not look,
// until it does again.
func TestWatchOfADeadNodefence(t *testing.T) {
	c := alive()
	got := c.watched(t, []step{
		{" True ", func() {
			c.dead.Store(true)
			c.nodes <- modified(node("Unknown"))
			c.ledgers <- modified(c.old)
		}},
		{" Unknown ", nil},
		{"note: nodefence has not looked at the Leases since ", func() { c.dead.Store(false) }},
		{"no longer: ", nil},
	})
	rows := regexp.MustCompile(` +`).ReplaceAllString(got.out, " ")
	const want = "NODE READY POLICY STATE REASON SINCE\na True workers Watched - -\na Unknown workers Unfenced - -\n"
	notes := strings.Split(got.errors, "\n")
	if got.code != 0 || rows != want || len(notes) != 3 || !strings.HasPrefix(notes[0], "note: nodefence has not looked at the Leases since ") ||
		notes[1] != strings.Replace(notes[0], "note: ", "note: no longer: ", 1) {
		t.Errorf("exit code %d: %q\n%s", got.code, rows, got.errors)
	}
}

// TestWatchListsNothingAgain: however often it looks, the nodes are listed at its start alone, once to be shown and
// once to be followed.
func TestWatchListsNothingAgain(t *testing.T) {
	c := alive()
	got := c.watched(t, []step{{" True ", func() { c.nodes <- modified(node("Unknown")) }}, {" Unknown ", nil}})
	if n := c.lists.Load(); got.code != 0 || n != 2 {
		t.Errorf("exit code %d: nodes were listed %d times: %s%s", got.code, n, got.out, got.errors)
	}
}

// TestWatchOfALedgerWhoseChangesDoNotArrive: that is no dead nodefence.
func TestWatchOfALedgerWhoseChangesDoNotArrive(t *testing.T) {
	c := alive()
	got := c.watched(t, []step{
		{" True ", func() { c.ledgers <- modified(c.old); c.nodes <- modified(node("Unknown")) }},
		{" Unknown ", func() { c.nodes <- modified(node("False")) }},
		{" False ", nil},
	})
	if got.code != 0 || got.errors != "" {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errors)
	}
}

// TestWatchOutlivesAWatchThatFails, unless nobody may look any more.
func TestWatchOutlivesAWatchThatFails(t *testing.T) {
	for status, goesOn := range map[int]bool{http.StatusInternalServerError: true, http.StatusForbidden: false} {
		c, first := alive(), make(chan string)
		var asked, heals atomic.Int32
		c.served["watch "+own+"fencepolicies"] = func() any {
			switch {
			case asked.Add(1) == 1:
				return first
			case heals.Load() == 0:
				return status
			}
			return nil
		}
		got := c.watched(t, []step{
			{" True ", func() { c.nodes <- modified(node("Unknown")) }},
			{" Unknown ", func() { close(first) }},
			{"note: changes are not seen, and it is tried again: ", func() { heals.Store(1) }},
			{"note: no longer: changes are not seen, and it is tried again: ", func() { c.nodes <- modified(node("False")) }},
			{" False ", nil},
		})
		if (got.code == 0) != goesOn || strings.Contains(got.out, "False") != goesOn || !goesOn && !strings.HasPrefix(got.errors, "error: you may not do that: ") {
			t.Errorf("%d: exit code %d: %s%s", status, got.code, got.out, got.errors)
		}
	}
}

// TestWatchInYAML is a stream of documents.
func TestWatchInYAML(t *testing.T) {
	c := alive()
	got := c.watched(t, []step{{"state: Watched\n", func() { c.nodes <- modified(node("Unknown")) }}, {"state: Unfenced\n", nil}}, "-o", "yaml")
	docs := strings.Split(got.out, "---\n")
	if got.code != 0 || len(docs) != 2 || !strings.Contains(docs[0], "state: Watched\n") || !strings.Contains(docs[1], "state: Unfenced\n") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.errors)
	}
}

package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestLedgerWrites: what others are asked, or the ledger by other verbs, is not counted.
func TestLedgerWrites(t *testing.T) {
	var c ledgerWrites
	code := 0
	rt := c.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}))
	for _, ask := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPut, "fenceledgers/cluster/status", http.StatusOK}, {http.MethodPut, "fenceledgers/cluster/status", http.StatusConflict},
		{http.MethodPatch, "fenceledgers/cluster/status", http.StatusOK}, {http.MethodPut, "nodefences/a/status", http.StatusConflict},
	} {
		r, err := http.NewRequest(ask.method, "http://x/apis/nodefence.io/v1alpha1/"+ask.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		code = ask.code
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	all, conflicts, _ := c.take()
	if got := fmt.Sprint(all, conflicts); got != "2 1" {
		t.Error(got)
	}
}

// TestFailures counts what the broker says of a delivery that failed, in its own words.
func TestFailures(t *testing.T) {
	broker, err := os.ReadFile("../../infra/local/broker/deliver.go")
	if err != nil {
		t.Fatal(err)
	}
	var f failures
	log := slog.New(slog.NewJSONHandler(&f, nil))
	for _, m := range regexp.MustCompile(`Warn\("([^"]+)", "try"`).FindAllStringSubmatch(string(broker), -1) {
		log.Warn(m[1])
	}
	log.Warn(strings.ToUpper("delivery"))
	if f.count() != 1 {
		t.Errorf("%d failures", f.count())
	}
}

// TestWaves: what BURST says is understood, or refused whole.
func TestWaves(t *testing.T) {
	for text, want := range map[string]string{
		"10/20 100/500@10": "[{10 20 10} {100 500 10}]",
		"":                 "[]",
		"10":               `BURST has "10": write how many of how many nodes fail, such as 10/20, or 100/500@10 for ten at a time`,
		"5/20 30/20":       `BURST has "30/20": write how many of how many nodes fail, such as 10/20, or 100/500@10 for ten at a time`,
		"10/20x":           `BURST has "10/20x": write how many of how many nodes fail, such as 10/20, or 100/500@10 for ten at a time`,
		"10/20@11":         `BURST has "10/20@11": write after @ how many are fenced at a time, from 1 to 10`,
		"10/20@":           `BURST has "10/20@": write after @ how many are fenced at a time, from 1 to 10`,
	} {
		all, err := waves(text)
		got := fmt.Sprint(all)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestMostAtOnce: spans that only touch do not run together.
func TestMostAtOnce(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	spans := []span{{at(0), at(5)}, {at(1), at(3)}, {at(3), at(6)}, {at(5), at(7)}, {at(9), at(10)}}
	if n := mostAtOnce(spans); n != 2 {
		t.Errorf("%d at once", n)
	}
	if n := mostAtOnce(append(spans, span{at(2), at(4)})); n != 3 {
		t.Errorf("%d at once, with one more", n)
	}
}

// TestWithinLimit: a burst in which more ran at once than may is an error, so that the bench ends with 1.
func TestWithinLimit(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	spans := []span{{at(0), at(5)}, {at(1), at(3)}, {at(3), at(6)}}
	if err := withinLimit("between a and b", spans, 2); err != nil {
		t.Error(err)
	}
	err := withinLimit("between a and b", spans, 1)
	if got := fmt.Sprint(err); got != "between a and b: 2 nodes at once, maxConcurrent is 1" {
		t.Error(got)
	}
}

// TestSlotsOf: a slot is held from the yes until the release. One that was given back ended there,
// and another yes is another slot; what comes after the release is another fence's.
func TestSlotsOf(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	is := func(s int, p api.Phase, why api.Reason) api.HistoryEntry {
		return api.HistoryEntry{At: metav1.NewMicroTime(at(s)), Phase: p, Reason: why}
	}
	opened, yes := is(1, api.Pending, api.Opened), is(2, api.Isolating, api.Admitted)
	for name, c := range map[string]struct {
		history []api.HistoryEntry
		want    string
	}{
		"one slot": {[]api.HistoryEntry{opened, yes, is(3, api.Fencing, api.Isolated), is(5, api.PoweringOn, api.Released)}, "[{2 5}]"},
		"the slot was given back": {[]api.HistoryEntry{opened, yes, is(3, api.Pending, api.DecisionExpired), is(4, api.Pending, api.TooManyConcurrent),
			is(6, api.Isolating, api.Admitted), is(8, api.PoweringOn, api.Released)}, "[{2 3} {6 8}]"},
		"two yes in a row":      {[]api.HistoryEntry{opened, yes, is(3, api.Isolating, api.Admitted), is(5, api.PoweringOn, api.Released)}, "[{2 5}]"},
		"another fence follows": {[]api.HistoryEntry{opened, yes, is(5, api.PoweringOn, api.Released), is(9, api.Isolating, api.Admitted)}, "[{2 5}]"},
		"no yes":                {[]api.HistoryEntry{opened, is(5, api.PoweringOn, api.Released)}, "the record of a tells of no yes before the release of its work"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{History: c.history}}
			var seconds []struct{ from, to int64 }
			slots, err := slotsOf(f)
			for _, s := range slots {
				seconds = append(seconds, struct{ from, to int64 }{s.from.Unix(), s.to.Unix()})
			}
			got := fmt.Sprint(seconds)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

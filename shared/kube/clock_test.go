package kube

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

// twoClocks are a machine and a server: the server's clock differs from the machine's by as much
// as a test says, and time passes only when a test says so.
type twoClocks struct {
	clock  *Clock
	boot   time.Duration
	local  time.Time
	server time.Time
}

func newTwoClocks(server time.Time) *twoClocks {
	w := &twoClocks{local: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), server: server, boot: time.Hour}
	w.clock = &Clock{elapsed: func() time.Duration { return w.boot }, fallback: func() time.Time { return w.local }}
	return w
}

func (w *twoClocks) pass(d time.Duration) {
	w.boot += d
	w.local = w.local.Add(d)
	w.server = w.server.Add(d)
}

// ask has one request answered, which takes there and back.
func (w *twoClocks) ask(t *testing.T, there, back time.Duration, answer func(*http.Response)) {
	t.Helper()
	rt := w.clock.Sample(roundTripper(func(*http.Request) (*http.Response, error) {
		w.pass(there)
		// A server sends whole seconds.
		resp := &http.Response{Header: http.Header{"Date": {w.server.UTC().Truncate(time.Second).Format(http.TimeFormat)}}}
		w.pass(back)
		if answer != nil {
			answer(resp)
		}
		return resp, nil
	}))
	if _, err := rt.RoundTrip(&http.Request{}); err != nil {
		t.Fatal(err)
	}
}

// off is the clock's error.
func (w *twoClocks) off() time.Duration { return w.clock.Now().Sub(w.server).Abs() }

var anHourOff = time.Date(2026, 5, 1, 13, 0, 0, 700e6, time.UTC)

func TestUntilTheServerHasSpokenTheClockIsTheMachines(t *testing.T) {
	w := newTwoClocks(anHourOff)
	if got := w.clock.Now(); !got.Equal(w.local) {
		t.Errorf("%s", got)
	}
	w.ask(t, 0, 0, func(r *http.Response) { r.Header.Set("Date", "yesterday") })
	w.ask(t, 0, 0, func(r *http.Response) { r.Header = http.Header{} })
	failing := w.clock.Sample(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("down") }))
	if _, err := failing.RoundTrip(&http.Request{}); err == nil {
		t.Error("the error is lost")
	}
	if got := w.clock.Now(); !got.Equal(w.local) {
		t.Errorf("learnt something from nothing: %s", got)
	}
}

// TestTheClockIsTheServers: the machine's own clock, an hour off, does not count (S30).
func TestTheClockIsTheServers(t *testing.T) {
	w := newTwoClocks(anHourOff)
	w.ask(t, 3*time.Millisecond, 5*time.Millisecond, nil)
	if w.off() > 510*time.Millisecond {
		t.Errorf("after one answer off by %s", w.off())
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w.pass(time.Duration(r.Int64N(int64(2 * time.Second))))
		w.ask(t, time.Duration(r.Int64N(int64(8*time.Millisecond))), time.Duration(r.Int64N(int64(8*time.Millisecond))), nil)
	}
	if w.off() > 50*time.Millisecond {
		t.Errorf("after many answers off by %s", w.off())
	}
}

// TestTimeThatIsSleptThroughHasPassed: after a suspension a machine knows without a request that
// its decisions have grown older (S8).
func TestTimeThatIsSleptThroughHasPassed(t *testing.T) {
	w := newTwoClocks(anHourOff)
	w.ask(t, 0, 0, nil)
	before := w.clock.Now()
	w.pass(7 * time.Hour)
	if got := w.clock.Now().Sub(before); got != 7*time.Hour {
		t.Errorf("%s have passed", got)
	}
}

func TestAMovedClockOfTheMachineMovesNothing(t *testing.T) {
	w := newTwoClocks(anHourOff)
	w.ask(t, 0, 0, nil)
	before := w.clock.Now()
	w.local = w.local.Add(-24 * time.Hour)
	if got := w.clock.Now(); !got.Equal(before) {
		t.Errorf("moved by %s", got.Sub(before))
	}
}

func TestTheNewestAnswerIsBelievedWhereAnswersDiffer(t *testing.T) {
	for name, moved := range map[string]time.Duration{
		"the server's clock is set back":    -time.Hour,
		"the server's clock is set forward": time.Hour,
		"another server answers, 3 s off":   3 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			w := newTwoClocks(anHourOff)
			w.ask(t, 0, 0, nil)
			w.server = w.server.Add(moved)
			w.ask(t, 0, 0, nil)
			if w.off() > 510*time.Millisecond {
				t.Errorf("off by %s", w.off())
			}
		})
	}
}

// TestClocksThatDriftApartMakeNoLeaps: an old answer must not outweigh a new one, or all old
// answers are lost at once.
func TestClocksThatDriftApartMakeNoLeaps(t *testing.T) {
	w := newTwoClocks(anHourOff)
	r := rand.New(rand.NewPCG(1, 2))
	worst := time.Duration(0)
	for i := range 3000 {
		w.pass(5*time.Second + time.Duration(r.Int64N(int64(10*time.Second))))
		w.server = w.server.Add(time.Millisecond) // a tenth of a thousandth
		w.ask(t, 0, 0, nil)
		if i > 300 {
			worst = max(worst, w.off())
		}
	}
	if worst > 200*time.Millisecond {
		t.Errorf("off by up to %s", worst)
	}
}

func TestEveryAnswerIsHeard(t *testing.T) {
	api := newFakeAPI(t)
	api.set(nodePath, node("", "", ""))
	api.Clock().fallback = func() time.Time { return time.Time{} }
	if !api.Clock().Now().IsZero() {
		t.Fatal("knows the time without an answer")
	}
	if _, err := api.Node(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if api.Clock().Now().IsZero() {
		t.Error("the answer's time was not taken")
	}
}

// TestAnAnswerOfTheHourBefore is looked at after one of this hour: what this hour has seen stays.
func TestAnAnswerOfTheHourBefore(t *testing.T) {
	w := newTwoClocks(anHourOff)
	w.boot = 5*time.Hour + time.Minute
	w.ask(t, 0, 0, nil)
	w.server = w.server.Add(10 * time.Second)
	w.ask(t, 0, 0, nil)
	seen := w.clock.ApartLately()
	w.boot = 5*time.Hour - time.Minute
	w.clock.ApartLately()
	w.boot = 5*time.Hour + 2*time.Minute
	if got := w.clock.ApartLately(); got != seen || seen < 8*time.Second {
		t.Errorf("the clocks were %s apart, and then %s", seen, got)
	}
}

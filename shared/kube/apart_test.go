package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestTwoAPIServers whose clocks differ answer one process in turn, and one server's clock is
// set: the largest difference is kept and reported, and the newest answer counts (S30).
func TestTwoAPIServers(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	serve := func(ahead *time.Duration) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", start.Add(*ahead).Format(http.TimeFormat))
		}))
		t.Cleanup(s.Close)
		return s
	}
	for name, c := range map[string]struct {
		first, second []time.Duration // what each adds, answer by answer
		apart         time.Duration
		told          int
	}{
		"the same":                      {[]time.Duration{0, 0}, []time.Duration{0, 0}, 0, 0},
		"a second, which both may mean": {[]time.Duration{0, 0}, []time.Duration{time.Second, time.Second}, 0, 0},
		"ten seconds":                   {[]time.Duration{0, 0, 0}, []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, 9 * time.Second, 1},
		"more and more":                 {[]time.Duration{0, 0}, []time.Duration{5 * time.Second, 9 * time.Second}, 8 * time.Second, 2},
		"both are set back by an hour":  {[]time.Duration{0, -time.Hour}, []time.Duration{0, -time.Hour}, mostApart, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b time.Duration
			one, two := serve(&a), serve(&b)
			clock, told := NewClock(), 0
			boot := time.Hour
			clock.elapsed = func() time.Duration { return boot }
			clock.OnApart(func(time.Duration) { told++ })
			client := &http.Client{Transport: clock.Sample(http.DefaultTransport)}
			for i := range c.first {
				a, b = c.first[i], c.second[i]
				for _, url := range []string{one.URL, two.URL} {
					r, err := client.Get(url)
					if err != nil {
						t.Fatal(err)
					}
					_ = r.Body.Close()
				}
			}
			last := start.Add(c.second[len(c.second)-1])
			if got := clock.Now(); got.Before(last) || got.After(last.Add(time.Second)) {
				t.Errorf("it is %s, and the last answer said %s", got, last)
			}
			if apart := clock.Apart(); (apart-c.apart).Abs() > 10*time.Millisecond || told != c.told {
				t.Errorf("apart %s, told %d times; want %s, %d", apart, told, c.apart, c.told)
			}
		})
	}
}

// TestADifferenceOfClocksIsOver some time after it was seen last, for people; reservations allow for it as
// long as the process lives.
func TestADifferenceOfClocksIsOver(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	clock, boot := NewClock(), 90*time.Minute
	clock.elapsed = func() time.Duration { return boot }
	ahead := time.Duration(0)
	answer := func() { clock.learn(start.Add(boot+ahead), boot, boot) }
	lately := func(want time.Duration) {
		t.Helper()
		if got := clock.ApartLately(); (got - want).Abs() > time.Second {
			t.Errorf("at %s the clocks lie %s apart, want %s", boot, got, want)
		}
	}
	answer()
	lately(0)
	ahead = 20 * time.Second
	answer()
	lately(19 * time.Second)
	ahead = 10 * time.Second
	boot = 110 * time.Minute
	answer()
	lately(19 * time.Second)
	boot = 130 * time.Minute
	lately(19 * time.Second) // in the hour before
	ahead = 0
	answer()
	boot = 185 * time.Minute
	lately(9 * time.Second)
	boot = 245 * time.Minute
	lately(0)
	boot = 1000 * time.Minute
	answer() // after so long it allows for the clocks' own drift
	ahead = 10 * time.Second
	answer()
	lately(9 * time.Second)
	boot = 2000 * time.Minute
	lately(0)
	if apart := clock.Apart(); apart < 18*time.Second {
		t.Errorf("reservations allow for %s", apart)
	}
}

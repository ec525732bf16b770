package kube

import (
	"net/http"
	"sync"
	"time"
)

// Clock tells the API server's time (S30). It learns it from the Date of every answer: the
// server's time was in [Date, Date+1s), and between our sending and receiving. So each answer
// narrows the offset between the two clocks: the first to half a second, later ones to a few
// milliseconds.
//
// Elapsed time is measured by the machine's boot clock, which continues while the machine sleeps
// and is not set by time servers (S8).
type Clock struct {
	mu       sync.Mutex
	low, hi  time.Time // bounds of the server's time at the boot clock's zero
	sampled  time.Duration
	elapsed  func() time.Duration
	fallback func() time.Time
	// apart is the largest difference between two answers so far; told is called for a larger
	// one.
	apart time.Duration
	told  func(apart time.Duration)
	// lately has the largest difference of an hour of the boot clock, and before that of the hour before it.
	lately struct {
		hour          time.Duration
		apart, before time.Duration
	}
}

// drift is how fast two clocks may run apart: the bounds widen by it with time.
const drift = 200e-6

// Elapsed is the time by this machine's boot clock, to be compared only with itself: it continues
// while the machine sleeps (S8).
func Elapsed() time.Duration { return sinceBoot() }

// Elapsed is the time by the clock that this one measures with. Client.NewReader judges by it how
// old a read is.
func (c *Clock) Elapsed() time.Duration { return c.elapsed() }

// NewClock makes a clock that has no answer of the server yet. Until it has one, it tells the
// machine's own time.
func NewClock() *Clock { return &Clock{elapsed: sinceBoot, fallback: time.Now} }

// Now is the API server's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.low.IsZero() {
		return c.fallback().UTC()
	}
	return c.at(c.elapsed())
}

// At is the API server's time at a time of this machine's boot clock (Elapsed).
func (c *Clock) At(elapsed time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.low.IsZero() {
		now := c.fallback() // read before the other clock, so that a halt between the two makes it no later
		return now.Add(elapsed - c.elapsed()).UTC()
	}
	return c.at(elapsed)
}

func (c *Clock) at(elapsed time.Duration) time.Time {
	mid := c.low.Add(c.hi.Sub(c.low) / 2)
	return mid.Add(elapsed).UTC().Truncate(time.Microsecond)
}

// Sample learns from every answer that passes.
func (c *Clock) Sample(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := c.elapsed()
		resp, err := next.RoundTrip(r)
		if err == nil {
			if date, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
				c.learn(date, sent, c.elapsed())
			}
		}
		return resp, err
	})
}

func (c *Clock) learn(date time.Time, sent, got time.Duration) {
	low, hi := date.Add(-got), date.Add(time.Second-sent)
	if tell := c.narrow(date, low, hi, sent, got); tell != nil {
		tell()
	}
}

// narrow applies the bounds of one answer, and returns the difference that is to be reported.
func (c *Clock) narrow(date, low, hi time.Time, sent, got time.Duration) (tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.low.IsZero() {
		slack := time.Duration(float64(got-c.sampled) * drift)
		was, wasHi := c.low.Add(-slack), c.hi.Add(slack)
		if was.After(low) {
			low = was
		}
		if wasHi.Before(hi) {
			hi = wasHi
		}
		if low.After(hi) {
			// The server's clock was set, or another server answered: believe
			// the newest answer alone, and remember by how much they differ.
			by := low.Sub(hi)
			c.turn(got)
			c.lately.apart = max(c.lately.apart, by)
			if by > c.apart {
				c.apart = by
				if told := c.told; told != nil {
					tell = func() { told(by) }
				}
			}
			low, hi = date.Add(-got), date.Add(time.Second-sent)
		}
	}
	c.low, c.hi, c.sampled = low, hi, got
	return tell
}

// mostApart bounds Apart: a clock that was once set by hours would otherwise hold slots for
// hours.
const mostApart = 10 * time.Minute

// Apart is the largest difference seen between the clocks of API servers, or of one before and
// after it was set; at most ten minutes. A comparison of two processes' times allows for this
// much more.
func (c *Clock) Apart() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(c.apart, mostApart)
}

// ApartLately is the largest difference seen in this hour of the boot clock and in the one before, for
// people: it goes back to 0 one to two hours after the last difference. Connections to an API server last
// long, so two that differ are not seen to differ at every answer.
func (c *Clock) ApartLately() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(c.elapsed())
	return max(c.lately.apart, c.lately.before)
}

// turn begins another hour of lately, if it is one. The caller holds the lock.
func (c *Clock) turn(elapsed time.Duration) {
	l := &c.lately
	hour := elapsed.Truncate(time.Hour)
	if hour <= l.hour { // an answer that was read before another may be looked at after it
		return
	}
	l.before = 0
	if hour == l.hour+time.Hour {
		l.before = l.apart
	}
	l.hour, l.apart = hour, 0
}

// OnApart calls told for each difference that is larger than all before.
func (c *Clock) OnApart(told func(apart time.Duration)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = told
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

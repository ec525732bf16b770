package resync

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

const (
	// usual is how long a platform gives one invocation unless it is told otherwise.
	usual = time.Minute
	// notDrained is the part of an invocation that a drain does not wait for: what comes before
	// and after a device call, but for some seconds to save its end.
	notDrained = 35 * time.Second
	// places bounds the calls that run at once. A fence that finds no place is tried again
	// at the next tick.
	places = 128
	// wakes is how long after a call resync assumes that nobody else wakes the fence.
	wakes = 2 * facts.Resync
)

// callTimeout bounds one call with everything that its replies lead to: as long as the platform
// gives one invocation, which is longer than the longest device call.
func (s *Resyncer) callTimeout() time.Duration { return cmp.Or(s.Invocation, usual) }

// drain is how long running calls may take to end once the process is told to end: longer than
// the longest device call, and shorter than what Kubernetes gives a pod.
func (s *Resyncer) drain() time.Duration { return s.callTimeout() - notDrained }

// call is the last call about one fence or node.
type call struct {
	busy, failed bool
	// noted: the fence was due far ahead, so whoever wakes it once it is due is awaited first.
	noted bool
	at    time.Time
	// told is how the fence stood when the log last said that it is overdue.
	told string
}

// round is one look with its calls, which may take longer than the look.
type round struct {
	*Resyncer
	ctx context.Context
	// draining is how long calls continue after ctx has ended; 0 if the platform does not wait
	// for calls.
	draining time.Duration
	calls    sync.WaitGroup

	failedMu sync.Mutex
	failed   []error
}

func (s *Resyncer) round(ctx context.Context) *round { return &round{Resyncer: s, ctx: ctx} }

// wait returns when the round's calls have ended.
func (r *round) wait() error {
	r.calls.Wait()
	r.failedMu.Lock()
	defer r.failedMu.Unlock()
	return errors.Join(r.failed...)
}

// send sends an event about a fence or node to its owner, in the background, if the owner
// is late enough and no call with the same key is running.
func (r *round) send(about string, late time.Duration, now time.Time, e event.Event, ended func(error) error) {
	if r.ctx.Err() != nil || !r.begin(about, late, now) {
		return
	}
	r.calls.Go(func() {
		ctx, cancel := r.lasting()
		defer cancel()
		err := r.Sender.Send(ctx, e)
		r.end(about, err)
		if err = ended(err); err != nil {
			r.failedMu.Lock()
			r.failed = append(r.failed, err)
			r.failedMu.Unlock()
		}
	})
}

// lasting returns the context of one call. A reply is lost when its caller disconnects, so a call
// outlives the round's context for a while.
func (r *round) lasting() (context.Context, context.CancelFunc) {
	if r.draining == 0 {
		return context.WithTimeout(r.ctx, r.callTimeout())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.callTimeout())
	stop := context.AfterFunc(r.ctx, func() {
		limit := time.NewTimer(r.draining)
		defer limit.Stop()
		select {
		case <-ctx.Done():
		case <-limit.C:
			cancel()
		}
	})
	return ctx, func() { stop(); cancel() }
}

// begin takes a place, if it is time for a call.
func (s *Resyncer) begin(about string, late time.Duration, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]*call{}
	}
	busy := 0
	for _, c := range s.calls {
		if c.busy {
			busy++
		}
	}
	c := s.calls[about]
	far := late < -facts.Resync
	switch {
	case busy >= places, c != nil && c.busy:
		return false
	case far && c == nil:
		s.calls[about] = &call{noted: true, at: now}
		return false
	case far && !c.waited(now), !far && !c.due(late, now):
		return false
	}
	is := &call{busy: true, noted: far, at: now}
	if c != nil {
		is.told = c.told
	}
	s.calls[about] = is
	return true
}

// due tells whether it is time to call about what is late. If resync called a moment ago, it assumes
// that nobody else wakes this fence, and calls as soon as the fence is due. After a failed call it waits
// for a while, unless that call is of a time that is still to come: the clock was set back since (S30).
func (c *call) due(late time.Duration, now time.Time) bool {
	if late < 0 || c == nil {
		return late >= patience
	}
	age := now.Sub(c.at)
	return !(c.failed && age >= 0 && age < patience) && (age < wakes && !c.noted || late >= patience)
}

// waited tells whether it is time to call about a fence that is due far ahead. Its time may be of a
// clock that was set back since (S30): it is called as if it were due each resync (S19).
func (c *call) waited(now time.Time) bool {
	age := now.Sub(c.at)
	return age < 0 || age >= facts.Resync-Tick
}

func (s *Resyncer) end(about string, err error) {
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[about]
	c.busy, c.failed, c.at = false, err != nil, now
}

// news tells whether the log has not said yet that a fence which stands so is overdue.
func (s *Resyncer) news(about, stands string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[about]
	if c == nil {
		return true
	}
	is := c.told != stands
	c.told = stands
	return is
}

// prune forgets the fences that have ended.
func (s *Resyncer) prune(fences []api.NodeFence) {
	open := map[string]bool{}
	for i := range fences {
		open[fenceOf(fences[i].Spec.NodeName)] = fences[i].Open()
	}
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for about, c := range s.calls {
		isFence := strings.HasPrefix(about, fenceOf(""))
		if !c.busy && (isFence && !open[about] || now.Sub(c.at) >= wakes) {
			delete(s.calls, about)
		}
	}
}

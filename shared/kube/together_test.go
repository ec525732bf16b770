package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// TestTogether: all run at one time, the first error in order is returned, and a panic reaches
// the caller. In a model they run one after the other.
func TestTogether(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	c, meets := &Client{}, make(chan struct{})
	err := c.Together(
		func() error { meets <- struct{}{}; return nil },
		func() error { <-meets; return first },
		func() error { return second },
	)
	if err != first {
		t.Error(err)
	}
	caught := ""
	func() {
		defer func() { caught = fmt.Sprint(recover()) }()
		_ = c.Together(func() error { panic("smoke") }, func() error { return first })
	}()
	if !strings.HasPrefix(caught, "smoke") || !strings.Contains(caught, "together_test.go") {
		t.Error(caught)
	}
	m, err := NewAt(&rest.Config{Host: "http://model"}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	order := ""
	err = m.Together(
		func() error { order += "1"; return nil },
		func() error { order += "2"; return first },
		func() error { order += "3"; return second },
	)
	if err != first || order != "12" {
		t.Error(order, err)
	}
}

// TestWhatIsDoneBeside is waited for, and its panic is the caller's and ends no process.
func TestWhatIsDoneBeside(t *testing.T) {
	ctx, wait := (&Client{}).WithBeside(t.Context())
	done, go1 := false, make(chan struct{})
	Beside(ctx, func() { <-go1; done = true })
	close(go1)
	if wait(); !done {
		t.Error("not waited for")
	}
	Beside(ctx, func() { panic("smoke") })
	defer func() {
		if v := recover(); v == nil {
			t.Error("the panic is lost")
		}
	}()
	wait()
}

// TestReadsAtOnceShareARequest: those who ask while a request is under way share the next one, and
// nobody is answered by a request that began before he asked.
func TestReadsAtOnceShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingReads()
		w.ask(t, t.Context(), 1)
		synctest.Wait()
		for range 5 {
			w.ask(t, t.Context(), 2)
		}
		leaves, leave := context.WithCancel(t.Context())
		w.ask(t, leaves, 0) // it leaves before the second request begins
		synctest.Wait()
		leave()
		synctest.Wait()
		w.goOn <- struct{}{}
		synctest.Wait()
		w.ask(t, t.Context(), 3) // the second request began before
		synctest.Wait()
		w.goOn <- struct{}{}
		w.goOn <- struct{}{}
		w.all.Wait()
		if n := w.requests.Load(); n != 3 {
			t.Errorf("%d requests", n)
		}
		synctest.Wait()
		if len(w.c.shared.underWay) > 0 {
			t.Errorf("it keeps %v", w.c.shared.underWay)
		}
	})
}

// TestAReadThatHangsHoldsNobodyUp for longer than a moment.
func TestAReadThatHangsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingReads()
		w.ask(t, t.Context(), 1)
		synctest.Wait()
		start := time.Now()
		w.c.read(t.Context(), "a", func(context.Context) rest.Result { return rest.Result{} })
		if d := time.Since(start); d != patience {
			t.Errorf("it has waited for %v", d)
		}
		w.goOn <- struct{}{}
		w.all.Wait()
	})
}

// TestAPanicReachesWhoShares the request, so that a handler takes it for one bad event.
func TestAPanicReachesWhoShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingReads()
		w.ask(t, t.Context(), 1)
		synctest.Wait()
		for range 2 {
			w.all.Go(func() {
				defer func() {
					if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "smoke") {
						t.Error(said)
					}
				}()
				w.c.read(t.Context(), "a", func(context.Context) rest.Result { panic("smoke") })
			})
		}
		synctest.Wait()
		w.goOn <- struct{}{}
		w.all.Wait()
	})
}

// waitingReads are reads of one object, each of which waits until it may go on.
type waitingReads struct {
	c        *Client
	requests atomic.Int64
	goOn     chan struct{}
	all      sync.WaitGroup
}

func newWaitingReads() *waitingReads {
	w := &waitingReads{c: &Client{clock: NewClock()}, goOn: make(chan struct{})}
	w.c.clock.elapsed = func() time.Duration { return time.Duration(w.requests.Load() + 1) } // the number of the request that begins
	return w
}

// ask reads, and wants to be answered by the request of this number.
func (w *waitingReads) ask(t *testing.T, ctx context.Context, want time.Duration) {
	w.all.Go(func() {
		_, at := w.c.read(ctx, "a", func(ctx context.Context) rest.Result {
			if ctx.Err() == nil {
				w.requests.Add(1)
				<-w.goOn
			}
			return rest.Result{}
		})
		if ctx.Err() == nil && at != want {
			t.Errorf("it was answered by request %d, want %d", at, want)
		}
	})
}

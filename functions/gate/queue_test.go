package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/functions/gate/admit"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestABurstIsReservedTogether: 50 gates of one process ask at once, ten may run. Two writes
// do for all of them, and who waited longest goes first (S14).
func TestABurstIsReservedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 50, 10)
		stand := make(chan struct{})
		b.before = func(r *http.Request) {
			if r.URL.Path == "/api/v1/nodes" {
				<-stand
			}
		}
		b.ask(t.Context(), 30) // is being counted while the others come
		synctest.Wait()
		for _, i := range rand.Perm(50) {
			if i != 30 {
				b.ask(t.Context(), i)
			}
		}
		synctest.Wait()
		close(stand)
		synctest.Wait()
		if got := b.told(); got["reserved"] != 10 || got[string(api.TooManyConcurrent)] != 40 || len(got) != 2 {
			t.Error(got)
		}
		if b.writes != 2 || b.conflicts != 0 || b.most != 10 {
			t.Errorf("%d writes, %d conflicts, %d reserved at most", b.writes, b.conflicts, b.most)
		}
		want := []string{nameOf(30), nameOf(0), nameOf(1), nameOf(2), nameOf(3), nameOf(4), nameOf(5), nameOf(6), nameOf(7), nameOf(8)}
		if d := cmp.Diff(want, b.reserved()); d != "" {
			t.Error(d)
		}
	})
}

// TestABatchGoesOnWithoutWhoLeft, also where that is the one for whom it was begun; the one
// that left gets no slot from it.
func TestABatchGoesOnWithoutWhoLeft(t *testing.T) {
	for name, leaves := range map[string]int{"who began it": 0, "who joined it": 1, "who waits for the next": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t, 3, 10)
				stand, conflict := make(chan struct{}), true
				b.before = func(r *http.Request) {
					if r.Method == http.MethodPut && conflict { // so that two are in one batch
						conflict = false
						b.stop("")
					} else if r.URL.Path == "/api/v1/nodes" {
						<-stand
					}
				}
				ends, end := context.WithCancel(t.Context())
				ask := func(i int) {
					ctx := t.Context()
					if i == leaves {
						ctx = ends
					}
					b.ask(ctx, i)
					synctest.Wait()
				}
				ask(0)
				ask(1)
				stand <- struct{}{} // 0 alone meets a conflict; 0 and 1 are counted next
				synctest.Wait()
				ask(2)
				end()
				synctest.Wait()
				close(stand)
				synctest.Wait()
				if got := b.told(); got["reserved"] != 2 || got[context.Canceled.Error()] != 1 {
					t.Error(got)
				}
				want := slices.Delete([]string{nameOf(0), nameOf(1), nameOf(2)}, leaves, leaves+1)
				if d := cmp.Diff(want, b.reserved()); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestABatchThatAllHaveLeftEnds: the last one to leave waits for that, and nothing is
// written. A leaked goroutine fails this test by itself.
func TestABatchThatAllHaveLeftEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 2, 10)
		b.before = func(r *http.Request) {
			if r.URL.Path == "/api/v1/nodes" {
				<-r.Context().Done()
			}
		}
		ctx, end := context.WithCancel(t.Context())
		b.ask(ctx, 0)
		synctest.Wait()
		end()
		synctest.Wait()
		b.before = nil
		b.ask(t.Context(), 1)
		synctest.Wait()
		if d := cmp.Diff([]string{nameOf(1)}, b.reserved()); d != "" || b.writes != 1 {
			t.Errorf("%d writes: %s", b.writes, d)
		}
	})
}

// TestAConflictIsNoEnd: what another process wrote meanwhile is respected, and each delivery
// gets its verdict from the try after it.
func TestAConflictIsNoEnd(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*burst)
		want      map[string]int
	}{
		"it took eight of nine slots": {func(b *burst) {
			for i := range 8 {
				b.take(20 + i)
			}
		}, map[string]int{"reserved": 2, string(api.TooManyConcurrent): 18}},
		"a person stopped everything": {func(b *burst) { b.stop("smoke") }, map[string]int{"reserved": 1, string(api.Stopped): 19}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t, 28, 10)
				pauses, puts, stand := 0, 0, make(chan struct{})
				b.gate.Queue.Pause = func(context.Context, int) { pauses++ }
				b.before = func(r *http.Request) {
					if r.URL.Path == "/api/v1/nodes" {
						<-stand
					} else if r.Method == http.MethodPut {
						if puts++; puts == 2 { // the first is of one, the second of all others
							c.meanwhile(b)
						}
					}
				}
				b.ask(t.Context(), 0)
				synctest.Wait()
				for i := 1; i < 20; i++ {
					b.ask(t.Context(), i)
				}
				synctest.Wait()
				close(stand)
				synctest.Wait()
				if d := cmp.Diff(c.want, b.told()); d != "" || b.conflicts != 1 || pauses != 1 || b.most > 10 {
					t.Errorf("%d conflicts, %d pauses, %d reserved at most: %s", b.conflicts, pauses, b.most, d)
				}
			})
		})
	}
}

// TestConflictsEndWithTheInvocation: a ledger that somebody else writes each time holds no
// delivery for longer than it may take.
func TestConflictsEndWithTheInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 1, 10)
		b.gate.Queue.Pause = admit.Jitter
		b.before = func(r *http.Request) {
			if r.Method == http.MethodPut {
				b.stop("")
			}
		}
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		b.ask(ctx, 0)
		time.Sleep(2 * time.Minute) // of the bubble's clock, which costs nothing
		if got := b.told(); got[context.DeadlineExceeded.Error()] != 1 {
			t.Error(got)
		}
		// With a second at most and half of that on average there are at least so many.
		if b.conflicts < 60 || b.conflicts > 1000 {
			t.Errorf("%d tries in a minute", b.conflicts)
		}
	})
}

// TestWhatIsWrongWithOneIsItsOwn: those beside it get their slots.
func TestWhatIsWrongWithOneIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 3, 10) // etcd's pods can't be read
		b.fences[1].Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum
		for i := range b.fences {
			b.ask(t.Context(), i)
		}
		synctest.Wait()
		if d := cmp.Diff([]string{nameOf(0), nameOf(2)}, slices.Sorted(slices.Values(b.reserved()))); d != "" || b.told()["reserved"] != 2 {
			t.Errorf("%v: %s", b.told(), d)
		}
	})
}

// TestAPanicIsTheHandlers: it is where the handler stands that catches it, and the next fence
// is served.
func TestAPanicIsTheHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 1, 10)
		client := b.gate.Client
		b.gate.Client = nil
		caught := ""
		func() {
			defer func() { caught = fmt.Sprint(recover()) }()
			_, _ = b.gate.Act(t.Context(), &b.fences[0], fence.Reserve, observed.Look{})
		}()
		if !strings.Contains(caught, "nil pointer") || !strings.Contains(caught, "commit.go") {
			t.Error(caught)
		}
		b.gate.Client = client
		b.ask(t.Context(), 0)
		synctest.Wait()
		if got := b.told(); got["reserved"] != 1 {
			t.Error(got)
		}
	})
}

// TestAPictureIsReadAtOnce, and each kind once: none of its lists waits for another.
func TestAPictureIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 1, 10)
		var mu sync.Mutex
		under := map[string]int{}
		all := make(chan struct{})
		b.before = func(r *http.Request) {
			if !slices.Contains([]string{"/api/v1/nodes", policyPath, fencesPath, budgetsPath}, r.URL.Path) {
				return
			}
			mu.Lock()
			if under[r.URL.Path]++; len(under) == 4 {
				close(all)
			}
			mu.Unlock()
			<-all
		}
		b.ask(t.Context(), 0)
		synctest.Wait()
		if got := b.told(); got["reserved"] != 1 || under[policyPath] != 1 {
			t.Errorf("%v after %v", got, under)
		}
	})
}

// verdictOf is an answer in a word.
func verdictOf(v *observed.Verdict, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded.Error()
	case err != nil:
		return err.Error()
	case v != nil:
		return string(v.Reason)
	}
	return "reserved"
}

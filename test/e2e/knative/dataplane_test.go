package knative

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// nextStep is how late the next step of a fence may be while nothing is delivered: half a
// minute, which README.md promises, and the time that a look takes.
const nextStep = 35 * time.Second

// away is how long nothing of Knative's data plane is started again, unless the fence
// ends sooner.
const away = 2 * time.Minute

// TestADeadDataPlaneStopsNoFence kills everything that carries events: once in the
// middle of a fence, and once before the node dies, as where the data plane ran on
// that very node. Resync calls the functions (S19).
func TestADeadDataPlaneStopsNoFence(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	victim := w.database()
	must(t, w.Lab.Fault(victim, "hang"))
	c := w.crash(victim)
	c.reach(api.Fencing)
	w.killDataPlane()
	watch := w.watchLateness(victim)
	must(t, w.Lab.Fault(victim, "none"))
	f := c.end()
	t.Logf("in mid-fence: at most %.1fs late, at its end %.1fs after the kill\n%s", watch.stop().Seconds(), time.Since(watch.since).Seconds(), rig.Story(f))

	node, err := w.PodRunning(w.ctx, "db-0", victim)
	must(t, err)
	c = w.crash(node)
	watch = w.watchLateness(node)
	f = c.end()
	t.Logf("from the beginning: at most %.1fs late, at its end %.1fs after the crash\n%s", watch.stop().Seconds(), time.Since(watch.since).Seconds(), rig.Story(f))
	w.called()
}

func (w *world) killDataPlane() {
	w.t.Helper()
	for _, program := range []string{plane.Ingress, plane.Filter, plane.Dispatcher} {
		must(w.t, w.Kill(program))
	}
}

// called checks that resync has called functions: otherwise the test shows nothing.
func (w *world) called() {
	w.t.Helper()
	log, err := os.ReadFile(filepath.Join(w.dir, "nodefence-resync.log"))
	if err != nil || !strings.Contains(string(log), `"msg":"overdue, owner called"`) {
		w.t.Errorf("resync has called nobody: %v\n%s", err, log)
	}
}

// lateness is how late a node's fence was looked at.
type lateness struct {
	since  time.Time
	cancel context.CancelFunc
	done   sync.WaitGroup
	most   time.Duration
}

// watchLateness compares each nextLook of a fence with the time at which it still
// stands. The lab and the test share one clock.
func (w *world) watchLateness(node string) *lateness {
	l := &lateness{since: time.Now()}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(w.ctx)
	w.t.Cleanup(func() { l.stop() })
	l.done.Go(func() {
		told := false
		for ctx.Err() == nil && time.Since(l.since) < away {
			f, err := w.Fences.Fence(ctx, node)
			if err == nil && f != nil && f.Open() && f.Status.NextLook != nil {
				l.most = max(l.most, time.Since(f.Status.NextLook.Time))
			}
			if l.most > nextStep && !told {
				told = true
				w.t.Errorf("the fence of %s is %.0fs late\n%s", node, l.most.Seconds(), rig.Story(f))
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	return l
}

func (l *lateness) stop() time.Duration {
	l.cancel()
	l.done.Wait()
	return l.most
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

const (
	// lookEvery is how often nodes and fences are looked at.
	lookEvery = time.Second
	// blindLimit is for how long the API server may give no answer.
	blindLimit = 2 * time.Minute
)

// window is one fence of a node, from its opening to its end.
type window struct {
	node           string
	number         int64
	opened, closed time.Time
	outcome        api.Reason
	// cuts is how often the fence says that it cut the power.
	cuts int
}

// watch looks at all nodes and fences again and again, and keeps what it has seen.
type watch struct {
	c          *rig.Cluster
	concurrent int

	mu     sync.Mutex
	at     time.Time
	fences map[string]*api.NodeFence
	nodes  map[string]*corev1.Node
	// all are the fences that were seen, by node and number.
	all map[string]map[int64]window
	// held counts the fences that waited for a reason, once for each fence.
	held map[api.Reason]map[string]bool
	// slots is the highest number of fences between the yes and the release, and full how often
	// there were as many as are allowed.
	slots, full, looks int
}

// newWatch has seen nothing yet.
func newWatch(c *rig.Cluster, concurrent int) *watch {
	return &watch{c: c, concurrent: concurrent, at: time.Now(), all: map[string]map[int64]window{}, held: map[api.Reason]map[string]bool{}}
}

// run looks until ctx ends, and returns the first breach that shows at once.
func (w *watch) run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := w.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		var breach breach
		if errors.As(err, &breach) {
			return err
		}
		if blind := time.Since(w.seenAt()); err != nil && blind > blindLimit {
			return fmt.Errorf("the API server was to answer, and has not for %s: %w", blind.Round(time.Second), err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// breach is a promise that was seen broken.
type breach string

// Error is the breach in words.
func (b breach) Error() string { return string(b) }

// look lists fences first and then nodes: where a fence is closed and its node is well, the node
// was well after the end of the fence.
func (w *watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	at := time.Now()
	fences, err := w.c.Fences.Fences(ctx)
	if err != nil {
		return err
	}
	nodes, err := w.c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.fences, w.nodes = at, map[string]*api.NodeFence{}, map[string]*corev1.Node{}
	for i := range nodes.Items {
		w.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	return w.note(fences)
}

// note keeps what the records say.
func (w *watch) note(fences []api.NodeFence) error {
	var slots []string
	for i := range fences {
		f := &fences[i]
		w.fences[f.Name] = f
		if f.HoldsSlot() {
			slots = append(slots, f.Name)
		}
		if w.all[f.Name] == nil {
			w.all[f.Name] = map[int64]window{}
		}
		for _, win := range windowsOf(f) {
			w.all[f.Name][win.number] = win
		}
		for _, h := range f.Status.History {
			if w.held[h.Reason] == nil {
				w.held[h.Reason] = map[string]bool{}
			}
			w.held[h.Reason][fmt.Sprint(f.Name, f.Status.FenceNumber)] = true
		}
	}
	w.looks++
	w.slots = max(w.slots, len(slots))
	if len(slots) == w.concurrent {
		w.full++
	}
	if len(slots) > w.concurrent {
		return breach(fmt.Sprintf("%d fences were between the yes and the release at once, of %s; maxConcurrent allows %d", len(slots), strings.Join(slots, ", "), w.concurrent))
	}
	return nil
}

// windowsOf are the fences that a record tells of.
func windowsOf(f *api.NodeFence) (all []window) {
	for _, p := range f.Status.Past {
		all = append(all, window{f.Name, p.FenceNumber, p.OpenedAt.Time, p.ClosedAt.Time, p.Outcome, int(p.Cuts)})
	}
	if st := f.Status; st.FenceNumber > 0 && st.OpenedAt != nil {
		win := window{node: f.Name, number: st.FenceNumber, opened: st.OpenedAt.Time, cuts: int(st.Power.Cuts)}
		if st.Phase == api.Finished && st.PhaseSince != nil {
			win.closed, win.outcome = st.PhaseSince.Time, st.Outcome
		}
		all = append(all, win)
	}
	return all
}

// seenAt is when the last look began.
func (w *watch) seenAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// fence is a node's record as last seen, nil if there is none.
func (w *watch) fence(node string) *api.NodeFence {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fences[node]
}

// number is the number of a node's last fence, 0 if it had none.
func (w *watch) number(node string) int64 {
	if f := w.fence(node); f != nil {
		return f.Status.FenceNumber
	}
	return 0
}

// windows are all fences of all nodes, in the order of their opening.
func (w *watch) windows() (all []window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.all {
		for _, win := range of {
			all = append(all, win)
		}
	}
	slices.SortFunc(all, func(a, b window) int { return a.opened.Compare(b.opened) })
	return all
}

// ailing says what keeps a node from being well in a look that began after a time; empty if it
// is: Ready, schedulable, without a mark of nodefence, and without an open fence.
func (w *watch) ailing(node string, after time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.at.After(after) {
		return "it was not looked at since " + after.Format(time.TimeOnly)
	}
	if f := w.fences[node]; f != nil && f.Open() {
		return fmt.Sprintf("its fence is open, in %s: %s: %s", f.Status.Phase, f.Status.Reason, f.Status.Message)
	}
	n := w.nodes[node]
	if n == nil {
		return "there is no Node object"
	}
	return unwellNode(n)
}

// unwellNode says what is wrong with a node, and what is left on it.
func unwellNode(n *corev1.Node) string {
	if n.Spec.Unschedulable {
		return "it is cordoned"
	}
	for _, t := range n.Spec.Taints {
		if t.Key == api.IsolationTaint || t.Key == api.OutOfServiceTaint {
			return "it has the taint " + t.Key
		}
	}
	for _, key := range []string{api.ScaleDownDisabled, api.DoNotDisrupt} {
		if _, left := n.Annotations[key]; left {
			return "it has the annotation " + key
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return ""
			}
			return "it is Ready=" + string(c.Status)
		}
	}
	return "it has no Ready condition"
}

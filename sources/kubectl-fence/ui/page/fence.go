package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Fence is one fence with what the record has of it.
type Fence struct {
	view.Past
	Open bool
	// Bars are its phases, in order of time.
	Bars []Bar
	// Marks are what was done and seen, in order of time.
	Marks []Mark
	// Release says in a sentence how its pods and volumes fared; empty before it began.
	Release string
	// Drain says how its node was drained first; empty if it was not.
	Drain string
}

// Bar is one phase of a fence: its length, and its place on a line from 0 to 100.
type Bar struct {
	Phase       api.Phase
	Took        string
	X, W        string
	Now, Failed bool
}

// Mark is one moment of a fence.
type Mark struct {
	What string
	At   time.Time
	// After is how long after the fence was opened.
	After string
	X     string
}

// fenceOf is the fence that a record is about.
func fenceOf(l *Look, f *api.NodeFence) *Fence {
	out := &Fence{Open: f.Open()}
	for _, p := range view.History(nil, []api.NodeFence{*f}, f.Name) {
		if p.FenceNumber == f.Status.FenceNumber {
			out.Past = p
		}
	}
	from, to := span(l, f)
	out.Bars = bars(f, from, to)
	out.Marks = marks(&f.Status, from, to)
	out.Release, out.Drain = releaseWords(&f.Status), drainWords(f.Status.Drain)
	return out
}

// span is the time from the opening of a fence to its end, or to now.
func span(l *Look, f *api.NodeFence) (from, to time.Time) {
	st := &f.Status
	to = l.Now
	if st.OpenedAt != nil {
		from = st.OpenedAt.Time
	} else if len(st.History) > 0 {
		from = st.History[0].At.Time
	}
	if !f.Open() && st.PhaseSince != nil {
		to = st.PhaseSince.Time
	}
	if to.Before(from) {
		to = from
	}
	return from, to
}

// bars are the phases of a fence. A phase that is entered again has a bar again.
func bars(f *api.NodeFence, from, to time.Time) []Bar {
	type stretch struct {
		phase api.Phase
		since time.Time
	}
	all := []stretch{{api.Pending, from}}
	for _, h := range f.Status.History {
		if h.Phase != all[len(all)-1].phase && h.Phase != "" {
			all = append(all, stretch{h.Phase, h.At.Time})
		}
	}
	if phase := f.CurrentPhase(); f.Open() && all[len(all)-1].phase != phase && f.Status.PhaseSince != nil {
		all = append(all, stretch{phase, f.Status.PhaseSince.Time})
	}
	var out []Bar
	for i, s := range all {
		end := to
		if i+1 < len(all) {
			end = all[i+1].since
		}
		last := i+1 == len(all)
		if s.phase == api.Finished {
			continue
		}
		out = append(out, Bar{
			Phase: s.phase, Took: took(end.Sub(s.since)), X: percent(s.since, from, to), W: width(s.since, end, from, to),
			Now: last && f.Open(), Failed: s.phase == api.Failed,
		})
	}
	return out
}

// marks are what was done to the machine and seen of it.
func marks(st *api.NodeFenceStatus, from, to time.Time) []Mark {
	var out []Mark
	add := func(what string, at *api.Time) {
		if at != nil && !at.IsZero() && !at.Time.Before(from) {
			out = append(out, Mark{What: what, At: at.Time, After: "+" + took(at.Sub(from)), X: percent(at.Time, from, to)})
		}
	}
	if d := st.Drain; d != nil {
		add("Drain began", &d.BeganAt)
		add("Drain ended: "+string(d.Ended), d.EndedAt)
	}
	add("Node isolated", st.Placed.IsolatedAt)
	if st.Power.OffCalls > 0 {
		add("Off sent", st.Power.CutAt) // offAt is gone once no Off can take effect any more
	}
	for _, i := range st.Isolation {
		add("Cut sent to "+i.Words(), i.OffAt)
		add("Seen cut off by "+i.Words(), i.SeenCutAt)
	}
	if p := st.Proof; p != nil {
		for i, r := range p.Reads {
			add(fmt.Sprintf("Read %d of %d: %s", i+1, len(p.Reads), r.State), &r.At)
		}
		add("Proof: "+string(p.Type), &p.At)
	} else if r := st.Power.FirstOff; r != nil {
		add("Read 1 of 2: "+string(r.State), &r.At)
	}
	if r := st.Power.LastRead; r != nil {
		add("Last read: "+string(r.State), &r.At)
	}
	add("Release began", st.Release.StartedAt)
	add("Release done", st.Release.DoneAt)
	add("On sent", st.Power.OnAt)
	add("Node ready", st.ReadySince)
	slices.SortStableFunc(out, func(a, b Mark) int { return a.At.Compare(b.At) })
	return out
}

// releaseWords say how the pods and volumes of the node fared.
func releaseWords(st *api.NodeFenceStatus) string {
	r := &st.Release
	if r.StartedAt == nil {
		return ""
	}
	words := fmt.Sprintf("%s released; %s and %s are left", view.Count(r.Pods, "pod is", "pods are"), view.Count(r.PodsLeft, "pod", "pods"), view.Count(r.AttachmentsLeft, "volume attachment", "volume attachments"))
	if r.DoneAt != nil {
		words = fmt.Sprintf("%s released, and nothing was left after %s", view.Count(r.Pods, "pod was", "pods were"), took(r.DoneAt.Sub(r.StartedAt.Time)))
	}
	if r.TimedOut {
		words += "; the time for it is over"
	}
	if r.KeptPods != "" {
		words += "; kept: " + r.KeptPods
	}
	return words + "."
}

// percent is the place of a time on the line.
func percent(at, from, to time.Time) string {
	whole := cmp.Or(to.Sub(from).Seconds(), 1)
	return fmt.Sprintf("%.2f", min(100, max(0, 100*at.Sub(from).Seconds()/whole)))
}

// width is that of a bar, which is never too thin to be seen.
func width(a, b, from, to time.Time) string {
	whole := cmp.Or(to.Sub(from).Seconds(), 1)
	return fmt.Sprintf("%.2f", min(100, max(0.6, 100*b.Sub(a).Seconds()/whole)))
}

// took is how long something took, for people.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < 2*time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}

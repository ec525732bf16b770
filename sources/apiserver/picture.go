package apiserver

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// picture is what was observed of the Leases. Time is an input; a Lease's own
// renewTime is only ever compared with itself (S30).
type picture struct {
	// since is when this unbroken look at the Leases began. A gap that a Lease
	// may have stopped in begins it anew: what moved meanwhile looks as if it
	// had moved just now, so the picture knows of no failure yet (S15).
	since time.Time
	// paused is since when nobody watches; zero while somebody does.
	paused time.Time
	// heard is when any Lease was last heard of.
	heard  time.Time
	leases map[string]observed
}

type observed struct {
	renewed string
	moved   time.Time
	renewal time.Duration
}

// newPicture is of nothing yet; resume begins the look.
func newPicture(now time.Time) *picture {
	return &picture{since: now, paused: now, heard: now, leases: map[string]observed{}}
}

// seed takes over since when Leases stand still from a picture that was kept
// before: a Lease with the same mark has not moved in between.
func (p *picture) seed(old api.LeasePicture) {
	for _, s := range old.Still {
		if o, ok := p.leases[s.NodeName]; ok && o.renewed == s.Renewed && s.Since.Time.Before(o.moved) {
			o.moved = s.Since.Time
			p.leases[s.NodeName] = o
		}
	}
	if old.Cut() {
		// Those that it did not name stand still by now, and show 1.2 renewals from here:
		// until then this is no picture of them.
		p.since = p.since.Add(p.renewal() / 5)
	}
}

// pause notes that the watch is away, resume that it stands again.
func (p *picture) pause(now time.Time) {
	if p.paused.IsZero() {
		p.paused = now
	}
}

func (p *picture) resume(now time.Time) {
	if !p.paused.IsZero() && now.Sub(p.paused) > p.renewal() {
		p.since = now
	}
	p.paused = time.Time{}
}

// observe notes how a Lease stands now.
func (p *picture) observe(node, renewed string, renewal time.Duration, now time.Time) {
	if len(p.leases) > 0 && now.Sub(p.heard) > 2*p.renewal() {
		// A connection that has died without a word looks like a watch on
		// Leases that all stand still.
		p.since = now
	}
	p.heard = now
	o, ok := p.leases[node]
	if !ok || o.renewed != renewed {
		o.moved = now
	}
	o.renewed, o.renewal = renewed, renewal
	p.leases[node] = o
}

func (p *picture) forget(node string) { delete(p.leases, node) }

// renewal is the longest of any Lease.
func (p *picture) renewal() time.Duration {
	var longest time.Duration
	for _, o := range p.leases {
		longest = max(longest, o.renewal)
	}
	return longest
}

// now draws the picture: Leases that missed a renewal are suspect after 1.2
// renewals (12 s with the kubelet's defaults), stale after two (20 s).
func (p *picture) now(exists func(node string) bool, now time.Time) api.LeasePicture {
	out := api.LeasePicture{Since: stamp(p.since), ObservedAt: stamp(now)}
	for node, o := range p.leases {
		if !exists(node) {
			continue
		}
		out.Total++
		out.Renewal.Duration = max(out.Renewal.Duration, o.renewal)
		still := now.Sub(o.moved)
		if still < o.renewal+o.renewal/5 {
			continue
		}
		out.Still = append(out.Still, api.StillLease{
			NodeName: node, Renewed: o.renewed, Since: *stamp(o.moved), Stale: still >= 2*o.renewal,
		})
	}
	slices.SortFunc(out.Still, func(a, b api.StillLease) int { return cmp.Compare(a.NodeName, b.NodeName) })
	out.StillCount = int32(len(out.Still))
	out.Still = out.Still[:min(len(out.Still), api.MaxStill)]
	return out
}

// same tells whether two pictures show the same, however old they are, but for one thing:
// by one that spans no whole renewal yet no fence begins (S15), so the next one is news.
func same(a, b api.LeasePicture) bool {
	return a.Total == b.Total && a.StillCount == b.StillCount && a.Renewal == b.Renewal && a.Since.Equal(b.Since) && spans(a) == spans(b) &&
		slices.EqualFunc(a.Still, b.Still, func(x, y api.StillLease) bool {
			return x.NodeName == y.NodeName && x.Renewed == y.Renewed && x.Stale == y.Stale
		})
}

// spans: it has seen a whole renewal of each Lease.
func spans(p api.LeasePicture) bool {
	return p.ObservedAt != nil && p.Since != nil && p.ObservedAt.Sub(p.Since.Time) >= p.Renewal.Duration
}

func stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

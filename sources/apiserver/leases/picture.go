package leases

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// picture is what was observed of the Leases. Time is an input. A Lease's own renewTime is
// only ever compared with itself (S30: one clock, the API server's).
type picture struct {
	// since is when this unbroken observation of the Leases began. It begins again after a
	// gap in which a Lease may have stopped: whatever moved in the gap looks as if it had
	// moved just now, so the picture knows of no failure yet (S15).
	since time.Time
	// paused is since when nobody watches; zero while the watch stands.
	paused time.Time
	// heard is when any Lease last changed.
	heard  time.Time
	leases map[string]observed
	// renewals counts the Leases by how often they are renewed.
	renewals map[time.Duration]int
}

type observed struct {
	renewed string
	moved   time.Time
	renewal time.Duration
}

// newPicture returns an empty picture; stands begins the observation.
func newPicture(now time.Time) *picture {
	return &picture{since: now, paused: now, heard: now, leases: map[string]observed{}, renewals: map[time.Duration]int{}}
}

// inherit takes over, from an earlier picture, since when Leases stand still: a Lease with the
// same mark has not moved in between.
func (p *picture) inherit(old api.LeasePicture) {
	for _, s := range old.Still {
		if o, ok := p.leases[s.NodeName]; ok && o.renewed == s.Renewed && s.Since.Time.Before(o.moved) {
			o.moved = s.Since.Time
			p.leases[s.NodeName] = o
		}
	}
	if old.Cut() {
		// The old picture did not name every still Lease. Those that it left out show as
		// still 1.2 renewals after now; until then, this picture does not cover them.
		p.since = p.since.Add(p.renewal() / 5)
	}
}

// breaks notes that the watch is broken.
func (p *picture) breaks(now time.Time) {
	if p.paused.IsZero() {
		p.paused = now
	}
}

// stands notes that the watch stands.
func (p *picture) stands(now time.Time) {
	if !p.paused.IsZero() && now.Sub(p.paused) > p.renewal() {
		p.since = now
	}
	p.paused = time.Time{}
}

// observe notes how a Lease stands now, and tells whether it has moved, or was not known.
func (p *picture) observe(node, renewed string, renewal time.Duration, now time.Time) (moved bool) {
	if len(p.leases) > 0 && now.Sub(p.heard) > 2*p.renewal() {
		// On a connection that died silently, a watch looks as if all Leases stood still.
		p.since = now
	}
	p.heard = now
	o, ok := p.leases[node]
	if moved = !ok || o.renewed != renewed; moved {
		o.moved = now
	}
	if ok {
		p.renews(o.renewal, -1)
	}
	p.renews(renewal, 1)
	o.renewed, o.renewal = renewed, renewal
	p.leases[node] = o
	return moved
}

func (p *picture) forget(node string) {
	if o, ok := p.leases[node]; ok {
		p.renews(o.renewal, -1)
	}
	delete(p.leases, node)
}

// renews counts one Lease more that is renewed that often, or one less.
func (p *picture) renews(every time.Duration, more int) {
	if p.renewals[every] += more; p.renewals[every] == 0 {
		delete(p.renewals, every)
	}
}

// renewal returns the longest renewal interval of any Lease. It is asked with each change of a Lease, and so
// looks at the intervals, of which there are few, and not at all Leases.
func (p *picture) renewal() time.Duration {
	var longest time.Duration
	for every := range p.renewals {
		longest = max(longest, every)
	}
	return longest
}

// now draws the picture. A Lease that missed a renewal is suspect after 1.2 renewals (12 s
// with the kubelet's defaults), and stale after two (20 s).
func (p *picture) now(exists func(node string) bool, now time.Time) api.LeasePicture {
	out := api.LeasePicture{Since: Stamp(p.since), ObservedAt: Stamp(now)}
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
			NodeName: node, Renewed: o.renewed, Since: *Stamp(o.moved), Stale: still >= 2*o.renewal,
		})
	}
	slices.SortFunc(out.Still, func(a, b api.StillLease) int { return cmp.Compare(a.NodeName, b.NodeName) })
	out.StillCount = int32(len(out.Still))
	out.Still = out.Still[:min(len(out.Still), api.MaxStill)]
	return out
}

// same reports whether two pictures show the same, whatever their age. The first picture
// that spans a whole renewal counts as different: before it, no fence begins (S15).
func same(a, b api.LeasePicture) bool {
	return a.Total == b.Total && a.StillCount == b.StillCount && a.Renewal == b.Renewal && a.Since.Equal(b.Since) && spans(a) == spans(b) &&
		slices.EqualFunc(a.Still, b.Still, func(x, y api.StillLease) bool {
			return x.NodeName == y.NodeName && x.Renewed == y.Renewed && x.Stale == y.Stale
		})
}

// spans reports whether the picture has observed a whole renewal of each Lease.
func spans(p api.LeasePicture) bool {
	return p.ObservedAt != nil && p.Since != nil && p.ObservedAt.Sub(p.Since.Time) >= p.Renewal.Duration
}

// Stamp is a time as the API server keeps it: in UTC, to the microsecond.
func Stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

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
	since  time.Time
	leases map[string]observed
}

type observed struct {
	renewed string
	moved   time.Time
	renewal time.Duration
}

func newPicture(now time.Time) *picture {
	return &picture{since: now, leases: map[string]observed{}}
}

// seed takes over since when Leases stand still from a picture that was kept
// before: a Lease with the same mark has not moved in between.
func (p *picture) seed(old api.LeasePicture) {
	for _, s := range old.Still {
		if o, ok := p.leases[s.Node]; ok && o.renewed == s.Renewed && s.Since.Time.Before(o.moved) {
			o.moved = s.Since.Time
			p.leases[s.Node] = o
		}
	}
}

// observe notes how a Lease stands now.
func (p *picture) observe(node, renewed string, renewal time.Duration, now time.Time) {
	o, ok := p.leases[node]
	if !ok || o.renewed != renewed {
		o.moved = now
	}
	o.renewed, o.renewal = renewed, renewal
	p.leases[node] = o
}

func (p *picture) forget(node string) { delete(p.leases, node) }

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
			Node: node, Renewed: o.renewed, Since: *stamp(o.moved), Stale: still >= 2*o.renewal,
		})
	}
	slices.SortFunc(out.Still, func(a, b api.StillLease) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

// same tells whether two pictures show the same, however old they are.
func same(a, b api.LeasePicture) bool {
	return a.Total == b.Total && a.Renewal == b.Renewal && slices.EqualFunc(a.Still, b.Still, func(x, y api.StillLease) bool {
		return x.Node == y.Node && x.Renewed == y.Renewed && x.Stale == y.Stale
	})
}

func stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

package fence

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Cluster is the picture on which one reservation is decided.
type Cluster struct {
	Nodes  []ClusterNode
	Fences []api.NodeFence
}

// ClusterNode is what counting needs of a node.
type ClusterNode struct {
	Name   string
	Labels map[string]string
	// Unhealthy: Ready is not True.
	Unhealthy bool
}

// How soon a held fence asks again.
const (
	askStorm      = 10 * time.Second
	askConcurrent = 3 * time.Second
	askPicture    = 5 * time.Second
)

// Admit counts, decides and reserves on the ledger that it is given, and
// changes nothing else: the caller writes that ledger by compare-and-swap, so
// that the three are one atomic step (S14). A nil verdict means reserved.
func Admit(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	rebuild(l, c.Fences, now)
	if l.Spec.Stop {
		return &Verdict{api.StoppedHold, "the ledger's stop switch is on", Resync}
	}
	if v := pictureUsable(l.Status.Leases, now); v != nil {
		return v
	}
	if v := usCutOff(l.Status.Leases); v != nil {
		return v
	}
	if v := calm(f, c, l, now); v != nil {
		return v
	}
	if v := room(f, c, l); v != nil {
		return v
	}
	reserve(l, api.Reservation{Node: f.Spec.Node, FenceUID: f.UID, Generation: f.Spec.Generation, At: stampOf(now)})
	return nil
}

// rebuild drops reservations whose fence is gone, closed or released, and puts
// back those of running fences that a lost ledger has forgotten (S14).
func rebuild(l *api.FenceLedger, fences []api.NodeFence, now time.Time) {
	old := l.Status.Reservations
	l.Status.Reservations = nil
	for i := range fences {
		f := &fences[i]
		r, found := reservationOf(old, f)
		switch {
		case f.CurrentPhase().HoldsSlot() && f.Status.Generation == f.Spec.Generation:
			if !found {
				r = api.Reservation{Node: f.Spec.Node, FenceUID: f.UID, Generation: f.Spec.Generation, At: stampOf(now)}
			}
			l.Status.Reservations = append(l.Status.Reservations, r)
		case f.CurrentPhase() == api.Pending && found && now.Sub(r.At.Time) <= DecisionValidity:
			l.Status.Reservations = append(l.Status.Reservations, r)
		}
	}
}

func reservationOf(all []api.Reservation, f *api.NodeFence) (api.Reservation, bool) {
	for _, r := range all {
		if r.Node == f.Spec.Node && r.FenceUID == f.UID && r.Generation == f.Spec.Generation {
			return r, true
		}
	}
	return api.Reservation{}, false
}

// ReservedAt is when this fence's slot was reserved, if it has one.
func ReservedAt(l *api.FenceLedger, f *api.NodeFence) *time.Time {
	if r, ok := reservationOf(l.Status.Reservations, f); ok {
		return &r.At.Time
	}
	return nil
}

func reserve(l *api.FenceLedger, r api.Reservation) {
	for i := range l.Status.Reservations {
		if l.Status.Reservations[i].Node == r.Node {
			l.Status.Reservations[i] = r
			return
		}
	}
	l.Status.Reservations = append(l.Status.Reservations, r)
}

// pictureUsable: an old picture of the Leases, or one that is younger than a
// renewal, has not seen what it must show (S15).
func pictureUsable(p api.LeasePicture, now time.Time) *Verdict {
	switch {
	case p.ObservedAt == nil || p.Since == nil:
		return &Verdict{api.PictureOldHold, "nobody has watched the Leases yet", askPicture}
	case now.Sub(p.ObservedAt.Time) > Resync:
		return &Verdict{api.PictureOldHold, "the picture of the Leases is older than " + Resync.String(), askPicture}
	case p.ObservedAt.Sub(p.Since.Time) < p.Renewal.Duration:
		return &Verdict{api.PictureOldHold, "the Leases have been watched for less than one renewal", askPicture}
	}
	return nil
}

// usCutOff: if most Leases stand still at once, it is likelier that we, or the
// API server, are the ones cut off (S16).
func usCutOff(p api.LeasePicture) *Verdict {
	stale := 0
	for _, s := range p.Still {
		if s.Stale {
			stale++
		}
	}
	if stale >= 2 && stale*2 > int(p.Total) {
		return &Verdict{api.LeasesStaleHold, fmt.Sprintf("%d of %d Leases stand still: it may be we who are cut off", stale, p.Total), askStorm}
	}
	return nil
}

// calm holds in a storm and in the cool-down after it (S15). A storm belongs to
// a policy; whoever counts for that policy begins and ends it.
func calm(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	for _, lim := range f.Spec.Policy.Limits {
		unhealthy, total := count(lim, c, l)
		ok, numbers := mayBegin(lim.Limits, unhealthy, total)
		s := storm(l, lim.Policy)
		switch {
		case !ok && s == nil:
			l.Status.Storms = append(l.Status.Storms, api.Storm{Policy: lim.Policy, Since: stampOf(now), Message: numbers})
		case !ok:
			s.Message, s.CoolDownUntil = numbers, nil
		}
		if !ok {
			return &Verdict{api.StormHold, "policy " + lim.Policy + ": " + numbers, askStorm}
		}
		if s == nil {
			continue
		}
		if s.CoolDownUntil == nil {
			until := stampOf(now.Add(lim.StormCoolDown.Duration))
			s.CoolDownUntil = &until
		}
		if left := s.CoolDownUntil.Sub(now); left > 0 {
			return &Verdict{api.CoolDownHold, "after the storm under policy " + lim.Policy + ", until " + s.CoolDownUntil.UTC().Format(time.RFC3339), min(left, askStorm)}
		}
		l.Status.Storms = slices.DeleteFunc(l.Status.Storms, func(s api.Storm) bool { return s.Policy == lim.Policy })
	}
	return nil
}

func storm(l *api.FenceLedger, policy string) *api.Storm {
	for i := range l.Status.Storms {
		if l.Status.Storms[i].Policy == policy {
			return &l.Status.Storms[i]
		}
	}
	return nil
}

// Storming is the storm under way over any policy of this fence, in words;
// empty if there is none.
func Storming(f *api.NodeFence, l *api.FenceLedger) string {
	for _, lim := range f.Spec.Policy.Limits {
		if s := storm(l, lim.Policy); s != nil && s.CoolDownUntil == nil {
			return "policy " + s.Policy + ": " + s.Message
		}
	}
	return ""
}

// count is over the nodes that the policy selects. Not Ready, a Lease that
// missed a renewal, and being under our care all count as unhealthy (S14, S15).
func count(lim api.ScopedLimits, c Cluster, l *api.FenceLedger) (unhealthy, total int) {
	bad := map[string]bool{}
	for _, s := range l.Status.Leases.Still {
		bad[s.Node] = true
	}
	for i := range c.Fences {
		if f := &c.Fences[i]; f.Open() {
			bad[f.Spec.Node] = true
		}
	}
	for _, n := range c.Nodes {
		if !Selects(lim.Selector, n.Labels) {
			continue
		}
		total++
		if n.Unhealthy || bad[n.Name] {
			unhealthy++
		}
	}
	return unhealthy, total
}

// room: no policy may have more slots in use than it allows.
func room(f *api.NodeFence, c Cluster, l *api.FenceLedger) *Verdict {
	byName := map[string]map[string]string{}
	for _, n := range c.Nodes {
		byName[n.Name] = n.Labels
	}
	for _, lim := range f.Spec.Policy.Limits {
		used := 0
		for _, r := range l.Status.Reservations {
			if r.Node != f.Spec.Node && Selects(lim.Selector, byName[r.Node]) {
				used++
			}
		}
		if most := max(1, int(lim.MaxConcurrent)); used >= most {
			return &Verdict{api.ConcurrencyHold, fmt.Sprintf("policy %s: %d fences are running, maxConcurrent is %d", lim.Policy, used, most), askConcurrent}
		}
	}
	return nil
}

func stampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}

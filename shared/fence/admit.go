package fence

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// How soon a held fence asks again.
const (
	askStorm      = 10 * time.Second
	askConcurrent = 3 * time.Second
	askPicture    = 5 * time.Second
)

// Admit counts, decides and reserves on the ledger that it is given, and
// changes nothing else: the caller writes that ledger by compare-and-swap, so
// that the three are one atomic step (S14). A nil verdict means reserved. now is from
// before the picture was taken.
func Admit(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	if v := refused(f, c, l, now, lookBack, room, rate, budgets, quorum); v != nil {
		return v
	}
	reserve(f, c, l, now)
	return nil
}

type limit func(*api.NodeFence, Cluster, *api.FenceLedger, time.Time) *Verdict

// refused is why a fence may not begin now; nil if it may. The ledger is brought to what
// is so, and storms begin and end on it.
func refused(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time, limits ...limit) *Verdict {
	rebuild(l, c, now)
	placeSlots(l, c)
	placeUnderWay(l, c)
	if v := heldForAll(l, now); v != nil {
		return v
	}
	for _, lim := range f.Status.Decision.Limits {
		if words := c.uncounted(lim.Policy); words != "" {
			return &Verdict{api.TooManyUnhealthy, words, askStorm}
		}
	}
	if v := calm(f, c, l, now); v != nil {
		return v
	}
	for _, limit := range limits {
		if v := limit(f, c, l, now); v != nil {
			return v
		}
	}
	return nil
}

// rebuild drops reservations whose fence is gone, closed or released, and puts
// back those of running fences that a lost ledger has forgotten (S14).
//
// A fence that is seen Pending here may be going on at this moment, by the clock of
// another gate. So its reservation is dropped only once no gate can go on with it: now is
// from before the fences were read, and ReservationKept is longer than a yes is valid by
// more than two clocks lie apart. A gate that saves its step later still finds its fence
// sent back for its old yes (S17). One of the future, as the clock was set back, is kept
// too: how old it is is known to nobody, and the fence's next yes takes its place.
func rebuild(l *api.FenceLedger, c Cluster, now time.Time) {
	old := l.Status.Reservations
	l.Status.Reservations = nil
	for i := range c.Fences {
		f := &c.Fences[i]
		r, found := reservationOf(old, f)
		forgetGivenBack(l, f)
		switch {
		case f.HoldsSlot():
			if !found {
				// With the time of its own yes: were it younger, a fence that is sent back
				// for its old yes would find a new one here that nobody gave (S17).
				r = api.Reservation{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: stampOf(now)}
				if yes := f.Status.DecidedAt; yes != nil {
					r.At = *yes
				}
			}
			l.Status.Reservations = append(l.Status.Reservations, r)
		case found && !f.CurrentPhase().Known():
			// A newer nodefence knows whether this phase takes a slot (S21).
			l.Status.Reservations = append(l.Status.Reservations, r)
		case f.CurrentPhase() == api.Pending && found && now.Sub(r.At.Time) <= ReservationKept+c.Apart && !givenBack(r, f):
			l.Status.Reservations = append(l.Status.Reservations, r)
		}
	}
}

func reservationOf(all []api.Reservation, f *api.NodeFence) (api.Reservation, bool) {
	for _, r := range all {
		if r.NodeName == f.Spec.NodeName && r.FenceUID == f.UID && r.FenceNumber == f.Status.FenceNumber {
			return r, true
		}
	}
	return api.Reservation{}, false
}

// ReservedAt is when this fence's slot was reserved, if it has one.
func ReservedAt(l *api.FenceLedger, f *api.NodeFence) *time.Time {
	if r, ok := reservationOf(l.Status.Reservations, f); ok && !givenBack(r, f) {
		return &r.At.Time
	}
	return nil
}

// pictureUsable: an old picture of the Leases, or one that is younger than a
// renewal, has not seen what it must show (S15).
func pictureUsable(p api.LeasePicture, now time.Time) *Verdict {
	switch {
	case p.ObservedAt == nil || p.Since == nil:
		return &Verdict{api.LeasePictureOld, "nobody has watched the Leases yet", askPicture}
	case !isWithin(p.ObservedAt.Time, now, Resync):
		return &Verdict{api.LeasePictureOld, "the picture of the Leases is older than " + Resync.String(), askPicture}
	case p.ObservedAt.Sub(p.Since.Time) < p.Renewal.Duration:
		return &Verdict{api.LeasePictureOld, "the Leases have been watched for less than one renewal", askPicture}
	}
	return tooManyStill(p)
}

// tooManyStill: nobody knows which Leases stand still beside those that have names (S15).
func tooManyStill(p api.LeasePicture) *Verdict {
	if !p.Cut() {
		return nil
	}
	return &Verdict{api.TooManyUnhealthy, fmt.Sprintf("%d of %d Leases stand still, more than are kept by name (%d): a storm under any limit", p.StillCount, p.Total, api.MaxStill), askStorm}
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
		return &Verdict{api.MostLeasesStale, fmt.Sprintf("%d of %d Leases stand still: it may be we who are cut off", stale, p.Total), askStorm}
	}
	return nil
}

// StormOfLeases says why the picture of the Leases alone, whatever the limits, is one on
// which nothing more starts: most of them stand still, or more than it names (S15, S16). Of
// a cut one only the names tell who is stale, which are no measure of all.
func StormOfLeases(l *api.FenceLedger) *Verdict {
	if v := usCutOff(l.Status.Leases); v != nil {
		return v
	}
	return tooManyStill(l.Status.Leases)
}

// calm holds in a storm and in the cool-down after it (S15). A storm is over all nodes of a
// policy, or over those of one domain where the policy has limits for domains besides;
// whoever counts there begins and ends it.
func calm(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	for _, lim := range f.Status.Decision.Limits {
		for _, s := range scopes(lim) {
			if v := calmIn(s, c.domain(s, f.Spec.NodeName), c, l, now); v != nil {
				return v
			}
		}
	}
	return nil
}

func calmIn(sc scope, domain string, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
	unhealthy, total := count(sc, domain, c, l)
	may, numbers := mayBegin(sc, unhealthy, total)
	numbers = clipped(numbers)
	where := named(sc.Policy, sc.Generation) + in(sc, domain)
	s := storm(l, sc, domain)
	if !may {
		if s == nil {
			l.Status.Storms = append(l.Status.Storms, api.Storm{Policy: sc.Policy, TopologyKey: sc.key, Domain: domain, Since: stampOf(now), Message: numbers})
		} else {
			s.Message, s.CoolDownUntil = numbers, nil
		}
		return &Verdict{api.TooManyUnhealthy, where + ": " + numbers, askStorm}
	}
	if s == nil {
		return nil
	}
	if left := cooling(s, sc.StormCoolDown.Duration, now); left > 0 && !waived(l, s) {
		return &Verdict{api.StormCoolDown, "after the storm under " + where + ", until " + s.CoolDownUntil.UTC().Format(time.RFC3339) +
			", unless a person ends it (spec.coolDownEnded of FenceLedger " + api.LedgerName + ")", min(left, askStorm)}
	}
	l.Status.Storms = slices.DeleteFunc(l.Status.Storms, func(s api.Storm) bool { return isOver(s, sc, domain) })
	return nil
}

func (c Cluster) labels(node string) map[string]string {
	for _, n := range c.Nodes {
		if n.Name == node {
			return n.Labels
		}
	}
	return nil
}

func isOver(s api.Storm, sc scope, domain string) bool {
	return s.Policy == sc.Policy && s.TopologyKey == sc.key && s.Domain == domain
}

func storm(l *api.FenceLedger, sc scope, domain string) *api.Storm {
	for i := range l.Status.Storms {
		if isOver(l.Status.Storms[i], sc, domain) {
			return &l.Status.Storms[i]
		}
	}
	return nil
}

// Storming is the storm under way over any policy of this fence, in words;
// empty if there is none. A storm in another domain is not this node's.
func Storming(f *api.NodeFence, labels map[string]string, l *api.FenceLedger) string {
	if words := storms(l); words != "" {
		return words
	}
	for _, lim := range f.Status.Decision.Limits {
		for _, sc := range scopes(lim) {
			domain := ""
			if sc.key != "" {
				domain = labels[sc.key]
			}
			if s := storm(l, sc, domain); s != nil && s.CoolDownUntil == nil {
				return "policy " + s.Policy + in(sc, domain) + ": " + s.Message
			}
		}
	}
	return ""
}

// stillIn are the nodes whose Lease may stand still. Of one that a cut picture does not
// name nobody knows, so all do.
func stillIn(p api.LeasePicture, c Cluster) map[string]bool {
	still := map[string]bool{}
	for _, s := range p.Still {
		still[s.NodeName] = true
	}
	if p.Cut() {
		for _, n := range c.Nodes {
			still[n.Name] = true
		}
	}
	return still
}

// ailing are the nodes that count as unhealthy whatever their conditions say: a
// Lease that missed a renewal, or a fence that is open (S14, S15).
func ailing(c Cluster, l *api.FenceLedger) map[string]bool {
	bad := stillIn(l.Status.Leases, c)
	for i := range c.Fences {
		if f := &c.Fences[i]; f.Open() {
			bad[f.Spec.NodeName] = true
		}
	}
	return bad
}

// count is over the nodes that the policy selects, in the domain.
func count(s scope, domain string, c Cluster, l *api.FenceLedger) (unhealthy, total int) {
	bad := ailing(c, l)
	for _, n := range c.Nodes {
		if !isCounted(s, domain, n) {
			continue
		}
		total++
		if n.Unhealthy || bad[n.Name] {
			unhealthy++
		}
	}
	return unhealthy, total
}

func stampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}

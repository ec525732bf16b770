package adopt

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leader watches the Leases by which Fence Agents Remediation runs. Its zero value has seen none.
type leader struct {
	mu   sync.Mutex
	seen map[string]sight
}

// sight is a Lease as it was last seen to move.
type sight struct {
	mark  string
	since time.Duration
}

// live names a Lease that is held, and that has not stood still for its whole duration yet; empty
// if there is none. Only what this process has seen of it counts: the times in it are of another
// machine's clock (S30: no decision compares the clocks of two machines). A Lease that is seen for
// the first time counts as moving, and one without a duration always does.
func (l *leader) live(leases []coordinationv1.Lease, now time.Duration) (words string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[string]sight, len(leases))
	for i := range leases {
		is := &leases[i]
		key, mark := is.Namespace+"/"+is.Name, string(is.UID)+"/"+is.ResourceVersion
		s, known := l.seen[key]
		if !known || s.mark != mark {
			s = sight{mark, now}
		}
		seen[key] = s
		if is.Spec.HolderIdentity == nil || *is.Spec.HolderIdentity == "" {
			continue // it was given up
		}
		d := is.Spec.LeaseDurationSeconds
		if d == nil || *d <= 0 || now-s.since < time.Duration(*d)*time.Second {
			words = "Lease " + key
		}
	}
	l.seen = seen
	return words
}

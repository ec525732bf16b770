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

// sight is a Lease as it was last seen.
type sight struct {
	mark  string
	since time.Duration
	// moved: this process has seen it change.
	moved bool
}

// live names a Lease that is held, that this process has seen move, and that has not stood still for
// its whole duration since; empty if there is none. unsure says that one is held of which neither is
// known yet: it was not looked at for long enough. The times in a Lease are of another machine's clock
// (S30: no decision compares the clocks of two machines). One without a duration never stands still.
func (l *leader) live(leases []coordinationv1.Lease, now time.Duration) (words string, unsure bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[string]sight, len(leases))
	for i := range leases {
		is := &leases[i]
		key, mark := is.Namespace+"/"+is.Name, string(is.UID)+"/"+is.ResourceVersion
		s, known := l.seen[key]
		if !known || s.mark != mark {
			s = sight{mark, now, known}
		}
		seen[key] = s
		if is.Spec.HolderIdentity == nil || *is.Spec.HolderIdentity == "" {
			continue // it was given up
		}
		d := is.Spec.LeaseDurationSeconds
		switch still := d != nil && *d > 0 && now-s.since >= time.Duration(*d)*time.Second; {
		case still:
		case s.moved:
			words = "Lease " + key
		default:
			unsure = true
		}
	}
	l.seen = seen
	return words, unsure
}

package kube

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// past is how far the API server's state had come when this process last heard of
// it. A resourceVersion is a revision of what lies below the API server, and a
// quorum read never gives a lower one of the same object than an earlier read did,
// unless that was taken back (S16). The ledger is written every few seconds, and is
// always compared with itself: other kinds may be kept in another etcd.
type past struct {
	mu sync.Mutex
	// highest was heard at that time of the boot clock.
	highest uint64
	heard   time.Duration
	// known is the last restore that the ledger itself told of.
	known time.Time
	// begins is when the state that counts was first seen: an answer to what was
	// asked before may be of the state that is gone.
	begins time.Duration
	// back is what was seen here, and stands in no ledger yet.
	back *api.Restored
}

// note takes an answer to a request that began then.
func (p *past) note(l *api.FenceLedger, began, heard time.Duration, now time.Time) {
	rv, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || began < p.begins {
		return
	}
	told := time.Time{}
	if r := l.Status.Restored; r != nil {
		told = r.SeenAt.Time
	}
	switch {
	case told.After(p.known):
		// Somebody has seen it, this process or another: what is remembered here may
		// be of the time before.
		p.known, p.back, p.highest, p.heard, p.begins = told, nil, rv, heard, began
	case rv >= p.highest:
		p.highest, p.heard = rv, heard
	case p.heard < began:
		p.back = &api.Restored{
			SeenAt: metav1.NewMicroTime(now.UTC().Truncate(time.Microsecond)),
			From:   strconv.FormatUint(p.highest, 10), To: l.ResourceVersion,
		}
		p.highest, p.heard, p.begins = rv, heard, began
	}
}

// WentBack is what this process has seen of the API server's state going back in
// time, until the ledger tells of it; else nil.
func (c *Client) WentBack() *api.Restored {
	c.past.mu.Lock()
	defer c.past.mu.Unlock()
	return c.past.back.DeepCopy()
}

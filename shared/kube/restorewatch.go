package kube

import (
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// restoreWatch is the newest state of the API server that this process has seen. A
// resourceVersion is a revision of the storage below the API server. A quorum read never returns
// a lower one for the same object than an earlier read did, unless that storage was restored
// (S16). The ledger is written every few seconds, and is compared only with itself: other kinds
// may be in another etcd.
type restoreWatch struct {
	mu sync.Mutex
	// highest is the highest resourceVersion so far; heard is when it was seen, by the boot clock.
	highest uint64
	heard   time.Duration
	// known is the last restore that the ledger itself names.
	known time.Time
	// begins is when the state that counts was first seen: an answer to an earlier request may be
	// of the state that is gone.
	begins time.Duration
	// back is the restore that was seen here and is in no ledger yet.
	back *api.Restored
}

// note takes an answer to a request that began at that time.
func (w *restoreWatch) note(l *api.FenceLedger, began, heard time.Duration, now time.Time) {
	rv, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || began < w.begins {
		return
	}
	told := time.Time{}
	if r := l.Status.Restored; r != nil {
		told = r.SeenAt.Time
	}
	switch {
	case told.After(w.known):
		// This process or another has seen it: what is remembered here may be of the time before.
		w.known, w.back, w.highest, w.heard, w.begins = told, nil, rv, heard, began
	case rv >= w.highest:
		w.highest, w.heard = rv, heard
	case w.heard < began:
		w.back = &api.Restored{
			SeenAt: metav1.NewMicroTime(now.UTC().Truncate(time.Microsecond)),
			From:   strconv.FormatUint(w.highest, 10), To: l.ResourceVersion,
		}
		w.highest, w.heard, w.begins = rv, heard, began
	}
}

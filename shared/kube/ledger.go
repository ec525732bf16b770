package kube

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const ledgersPath = group + "/fenceledgers"

const (
	theLedger    = ledgersPath + "/" + api.LedgerName
	ledgerStatus = theLedger + "/status"
)

// Ledger reads the ledger, and creates it when it is missing. If this process has seen the API
// server's state go back in time, the ledger says so, even if nobody has saved that yet.
func (c *Client) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	for {
		l, err := get[api.FenceLedger](ctx, c, theLedger)
		if err != nil {
			return nil, err
		}
		if l != nil {
			return c.restored(l), nil
		}
		l = &api.FenceLedger{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceLedger"},
			ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName},
		}
		made, err := create(ctx, c, ledgersPath, l)
		if err == nil {
			return made, nil
		}
		if !isConflict(err) {
			return nil, err
		}
	}
}

// restored adds to a ledger that the API server's state went back, if this process has seen that.
func (c *Client) restored(l *api.FenceLedger) *api.FenceLedger {
	if back := c.WentBack(); back != nil {
		l.Status.Restored = back
	}
	return l
}

// SaveLedger writes the ledger's status by compare-and-swap: a person who wrote its spec
// meanwhile, to stop everything, wins. Only people write the spec. A ledger that this program
// does not understand is left as it is: what a newer program keeps there would be lost (S21).
func (c *Client) SaveLedger(ctx context.Context, l *api.FenceLedger) (*api.FenceLedger, error) {
	if strange := l.NotUnderstood.Words("FenceLedger " + api.LedgerName); strange != "" {
		return nil, fmt.Errorf("put %s: %s: %w", ledgerStatus, strange, ErrConflict)
	}
	l.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceLedger"}
	return update(ctx, c, ledgerStatus, l)
}

// SourceView is what the source writes into the ledger of what it has seen.
type SourceView struct {
	Leases api.LeasePicture
	// Census and Configs are none where they are nil.
	Census  *api.Census
	Configs *api.ConfigsSeen
	// Turns replace those in the ledger, if there are any.
	Turns []api.NodeTurn
}

// SaveSourceView replaces that in the ledger, and nothing else. With the resourceVersion of the
// ledger as it was read, ErrConflict says that somebody wrote since, perhaps another source, and
// that nothing was saved. Without one it takes no part in the gates' compare-and-swap.
func (c *Client) SaveSourceView(ctx context.Context, v SourceView, read string) (*api.FenceLedger, error) {
	status := map[string]any{"leases": fieldsOf(v.Leases), "census": nil, "configs": v.Configs}
	if v.Census != nil {
		status["census"] = fieldsOf(*v.Census)
	}
	body := map[string]any{"status": status}
	if v.Turns != nil {
		status["checks"] = v.Turns
	}
	if read != "" {
		body["metadata"] = map[string]any{"resourceVersion": read}
	}
	return patch[api.FenceLedger](ctx, c, mergePatch, ledgerStatus, body)
}

// SaveWentBack writes into the ledger as it was read that the state went back, if this process
// has seen that. ErrConflict: somebody else wrote first.
func (c *Client) SaveWentBack(ctx context.Context, l *api.FenceLedger) error {
	back := c.WentBack()
	if back == nil {
		return nil
	}
	_, err := patch[api.FenceLedger](ctx, c, mergePatch, ledgerStatus, map[string]any{
		"metadata": map[string]any{"resourceVersion": l.ResourceVersion},
		"status":   map[string]any{"restored": back},
	})
	return err
}

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

// WentBack is the restore that this process has seen and the ledger does not name yet; nil if
// there is none.
func (c *Client) WentBack() *api.Restored {
	c.restores.mu.Lock()
	defer c.restores.mu.Unlock()
	return c.restores.back.DeepCopy()
}

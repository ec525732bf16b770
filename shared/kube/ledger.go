package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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
			ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName, Labels: ledgerLabels()},
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

// ledgerLabels are those of a new ledger. With none it would have no field at all, and an API server does
// not record who sets a field of such an object later: Flux, applying the ledger, would take a person's stop
// for its own, and remove it.
func ledgerLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/part-of": "nodefence"}
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

// WentBack is the restore that this process has seen and the ledger does not name yet; nil if
// there is none.
func (c *Client) WentBack() *api.Restored {
	c.restores.mu.Lock()
	defer c.restores.mu.Unlock()
	return c.restores.back.DeepCopy()
}

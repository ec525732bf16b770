package gate

import (
	"context"

	"github.com/nodefence/nodefence/shared/kube"
)

// Lists are the objects that one reservation is decided on, beside the ledger.
type Lists = kube.Lists

// ReadLists reads them. The ledger is read before them (S14).
func ReadLists(ctx context.Context, c *kube.Client) (Lists, error) { return c.ReadLists(ctx) }

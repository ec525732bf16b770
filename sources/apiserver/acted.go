package apiserver

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// ledgerWatch notes what people write into the FenceLedger. The ledger is read every few seconds too, and a stop that
// is followed by a start would be over between two reads.
func (s *Source) ledgerWatch() watched {
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: ledgers, name: ledgers, of: &api.FenceLedger{},
		selector: fields.OneTermEqualSelector("metadata.name", api.LedgerName), slim: slim.Ledger,
		handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, first bool) { s.acts.Ledger(obj.(*api.FenceLedger), first) },
			UpdateFunc: func(_, obj any) { s.acts.Ledger(obj.(*api.FenceLedger), false) },
			DeleteFunc: func(obj any) {
				if l, ok := obj.(*api.FenceLedger); ok {
					s.acts.Gone(l.UID)
				}
			},
		},
	}
}

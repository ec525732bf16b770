package kube

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// group is where nodefence's own kinds are served.
const group = "/apis/nodefence.io/v1alpha1"

const (
	nodesPath    = "/api/v1/nodes"
	leasesPath   = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	policiesPath = group + "/fencepolicies"
	ledgersPath  = group + "/fenceledgers"
	theLedger    = ledgersPath + "/" + api.LedgerName
	ledgerStatus = theLedger + "/status"
)

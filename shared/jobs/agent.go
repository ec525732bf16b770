package jobs

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/kube"
)

// AgentRunner runs the agents of one device call in Jobs.
//
// A pod gets its call last: when its node has accepted it. Before that it can do nothing, however
// late it is started. After that its own node bounds it, whatever happens to the API server, the
// controllers, or us.
type AgentRunner struct {
	Client *kube.Client
	// Namespace is where the Jobs are made.
	Namespace string
	// Claim is the claim of the call.
	Claim devicecall.Claim
	// n numbers the Jobs of the call.
	n int
}

// callsLabel returns the label value for the calls of one node: many node names are longer than a
// label.
func (j *AgentRunner) callsLabel() string {
	sum := sha256.Sum256([]byte(j.Claim.Node))
	return "call-" + hex.EncodeToString(sum[:8])
}

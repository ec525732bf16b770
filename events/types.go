package events

import (
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The types. Those of phases are derived: io.nodefence.fence.<phase>.v1. Those
// that begin like internalPrefix may change with each release.
const (
	NodeUnhealthy = "io.nodefence.node.unhealthy.v1"
	NodeHealthy   = "io.nodefence.node.healthy.v1"
	// NodeMarked: a node carries our taint and no open record stands for it (S22).
	NodeMarked = internalPrefix + "marked" + version
	// NodeProblem: somebody reports a passing problem of a node, such as
	// node-problem-detector does of what the kernel wrote.
	NodeProblem = "io.nodefence.node.problem.v1"
	// PodsFailing: what was reported of the Pods of a node that is well is enough for
	// its policy to move them.
	PodsFailing = "io.nodefence.pods.failing.v1"
	// NodeSuspect: a node's Lease stands still, and nothing else says yet that the
	// node has failed.
	NodeSuspect = internalPrefix + "suspect" + version
	// NodeDumping: a node's machine sends kdump messages.
	NodeDumping = "io.nodefence.node.dumping.v1"
	// NodeCheck: it is a node's turn to have its device read, before anything fails.
	NodeCheck = internalPrefix + "check" + version
	// NodeCheckIsolation: the same turn, for a device that cuts off storage or network.
	NodeCheckIsolation = internalPrefix + "checkisolation" + version

	fencePrefix    = ownPrefix + "fence."
	internalPrefix = ownPrefix + "internal."
	version        = ".v1"
)

// OfPhase is the type that says: this fence is now in that phase.
func OfPhase(p api.Phase) string {
	return fencePrefix + strings.ToLower(string(p)) + version
}

// PhaseOf is the phase that a type names, if it is one of a fence.
func PhaseOf(eventType string) (api.Phase, bool) {
	for _, p := range api.Phases {
		if OfPhase(p) == eventType {
			return p, true
		}
	}
	return "", false
}

// Types lists every type that nodefence sends, in the order of a fence's way.
func Types() []string {
	all := []string{NodeUnhealthy, NodeHealthy, NodeMarked, NodeProblem, PodsFailing, NodeSuspect, NodeDumping, NodeCheck, NodeCheckIsolation}
	for _, p := range api.Phases {
		all = append(all, OfPhase(p))
	}
	return all
}

// Internal tells whether a type is one by which nodefence's functions wake each other, of
// which nothing is promised.
func Internal(eventType string) bool { return strings.HasPrefix(eventType, internalPrefix) }

// NearPrefix begins every type of nodefence's, and those whose "nodefence" is misspelt at
// its end. Where nobody waits for an answer, whatever begins like that and is none of OwnTypes
// goes to the dead-letter function.
const NearPrefix = "io.nodefen"

// OwnTypes lists every type that begins like nodefence's and is one: Types, and those that it
// takes and does not send.
func OwnTypes() []string { return append(Types(), RequestFence, Scheduled) }

// Known tells whether nodefence has this type.
func Known(eventType string) bool {
	for _, t := range Types() {
		if t == eventType {
			return true
		}
	}
	return false
}

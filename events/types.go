package events

import (
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The event types. Those of phases are derived: io.nodefence.fence.<phase>.v1. Types that
// begin with internalPrefix may change in each release.
const (
	NodeUnhealthy = "io.nodefence.node.unhealthy.v1"
	NodeHealthy   = "io.nodefence.node.healthy.v1"
	// NodeMarked: a node has nodefence's taint, and no open record explains it (S22: we
	// take away only what we placed).
	NodeMarked = internalPrefix + "marked" + version
	// NodeProblem: somebody reports a passing problem of a node, for example
	// node-problem-detector reports a message of the kernel.
	NodeProblem = "io.nodefence.node.problem.v1"
	// PodsFailing: the reports about the Pods of a healthy node are enough for its policy
	// to move Pods.
	PodsFailing = "io.nodefence.pods.failing.v1"
	// NodeSuspect: a node's Lease stands still, and nothing else shows yet that the node
	// has failed.
	NodeSuspect = internalPrefix + "suspect" + version
	// NodeDumping: a node's machine sends kdump messages.
	NodeDumping = "io.nodefence.node.dumping.v1"
	// FenceRequestChanged: a FenceRequest is to be looked at, because it or the fence of its node
	// has changed.
	FenceRequestChanged = ownPrefix + "fencerequest.changed" + version
	// PersonActed: a person set or released a brake, asked something of a fence, or gave a word. Its record is written.
	PersonActed = ownPrefix + "act" + version
	// FenceReported: the FenceReport of a fence that ends is written.
	FenceReported = ownPrefix + "report.fence" + version
	// NodeCheck: it is a node's turn to have its device read, while nothing has failed.
	NodeCheck = internalPrefix + "check" + version
	// NodeCheckIsolation: the same turn, for a device that cuts off storage or network.
	NodeCheckIsolation = internalPrefix + "checkisolation" + version

	fencePrefix    = ownPrefix + "fence."
	internalPrefix = ownPrefix + "internal."
	version        = ".v1"
)

// OfPhase returns the type that says that a fence is now in that phase.
func OfPhase(p api.Phase) string {
	return fencePrefix + strings.ToLower(string(p)) + version
}

// PhaseOf returns the phase that a type names, if the type is one of a fence.
func PhaseOf(eventType string) (api.Phase, bool) {
	for _, p := range api.Phases {
		if OfPhase(p) == eventType {
			return p, true
		}
	}
	return "", false
}

// Types lists every type that nodefence sends, in the order in which a fence causes them.
func Types() []string {
	all := []string{NodeUnhealthy, NodeHealthy, NodeMarked, NodeProblem, PodsFailing, NodeSuspect, NodeDumping, FenceRequestChanged, PersonActed, FenceReported, NodeCheck, NodeCheckIsolation}
	for _, p := range api.Phases {
		all = append(all, OfPhase(p))
	}
	return all
}

// Internal reports whether nodefence's functions only wake each other by this type. Nothing
// is promised about such types.
func Internal(eventType string) bool { return strings.HasPrefix(eventType, internalPrefix) }

// NearPrefix is the prefix of every type of nodefence's, and of types that misspell
// "nodefence" at its end. If nobody waits for an answer, an event whose type begins like
// this and is none of OwnTypes goes to the dead-letter function.
const NearPrefix = "io.nodefen"

// OwnTypes lists every type that begins like nodefence's and is valid: Types, and those
// that nodefence accepts and does not send.
func OwnTypes() []string { return append(Types(), RequestFence, Scheduled) }

// Known reports whether nodefence has this type.
func Known(eventType string) bool {
	for _, t := range Types() {
		if t == eventType {
			return true
		}
	}
	return false
}

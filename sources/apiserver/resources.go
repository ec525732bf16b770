package apiserver

import (
	"strings"

	"k8s.io/client-go/tools/cache"
)

// The watched resources, as the API server names them.
const (
	nodes         = "nodes"
	kubeletLeases = "leases"
	fences        = "nodefences"
	// problems are Kubernetes Events about Nodes.
	problems = "events"
	// leaseNamespace is where kubelets keep their Leases.
	leaseNamespace = "kube-node-lease"
)

// nameOf also handles the tombstone of a missed deletion.
func nameOf(obj any) string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return ""
	}
	_, name, _ := cache.SplitMetaNamespaceKey(key)
	return name
}

// enrolments is the resource name of ConfigMaps, which hold the enrolments.
const enrolments = "configmaps"

// targets is the resource name of FenceTargets.
const targets = "fencetargets"

const (
	policies        = "fencepolicies"
	problemPolicies = "nodeproblempolicies"
	// podProblems is the prefix of the names of watches on Kubernetes Events about Pods.
	podProblems = "events about Pods: "
)

// fenceRequests is the resource name of FenceRequests.
const fenceRequests = "fencerequests"

// isOfRequests tells whether this names a watch on FenceRequests.
func isOfRequests(watch string) bool { return strings.HasPrefix(watch, fenceRequests+"/") }

const budgets = "fencebudgets"

// ledgers is the resource name of the FenceLedger.
const ledgers = "fenceledgers"

package view

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// aside are the reasons that stand on other objects than NodeFences: events that open no fence,
// FenceRequests, FenceTargets, and policies.
var aside = map[api.Reason]Remedy{
	// Why an event that asks for a fence opens none.
	api.SourceNotBelieved:    {"send a token with the event, or apply a NodeProblemPolicy with a cloudEvent rule for its source", ""},
	api.Reported:             isFine,
	api.TokenRefused:         {"make a new token for this event, or correct its data as the message says", ""},
	api.NotAllowed:           {"have an administrator give the user the verb fence on nodefences", "kubectl auth can-i fence nodefences.nodefence.io"},
	api.RequestServedAlready: noFence, api.RequestTooOld: noFence, api.RequestMerged: goesOn,
	api.NodeMissing: goesOn, api.MachineFailed: goesOn, api.NodeProblem: isFine, api.PodMoved: isFine,
	api.NodeCordoned:     {"wait; or keep the node cordoned after its fence", "kubectl fence cordon NODE"},
	api.PodHeld:          {"mend the workload whose disruption budget holds the pod", "kubectl get poddisruptionbudgets -A"},
	api.NoPolicy:         {"apply a FencePolicy whose spec.selector selects the node, if it is to be fenced", "kubectl fence init --for metal"},
	api.NoSuchNode:       {"correct the name of the node", "kubectl get nodes"},
	api.Healthy:          noFence,
	api.Starting:         {"wait: the node was never Ready, and its policy gives it time for that", "kubectl fence status -w"},
	api.RequestWithdrawn: noFence,
	api.NamesDiffer:      {"create a FenceRequest whose names are of one node", `kubectl fence ask NODE --reason "…"`},

	// How a FenceRequest stands.
	api.RemediationStarted:              {"wait, or see what its fence waits for", "kubectl fence why NODE"},
	api.RemediationFinishedSuccessfully: isOver,
	api.RemediationFinishedNodeNotFound: isOver,
	api.RemediationInterruptedByNHC:     isOver,

	// How a FencePolicy, a FenceBudget or the FenceLedger stands.
	api.Understood: isFine, api.NothingHoldsAll: isFine, api.AllPresent: isFine, api.WithinLimits: isFine, api.SufficientNodes: isFine,
	api.EtcdListDiffers: {"list etcd's nodes in controlPlane.etcdNodeNames as they are", "kubectl edit fencepolicy POLICY"},

	// Whether a node could be fenced.
	api.DeviceAnswers: isFine, api.ManualOnly: isFine,
	api.NotCheckedYet:     {"wait, or have the devices read now", "kubectl fence plan --read NODE"},
	api.NoBinding:         {"write a ConfigMap that binds the node to its device (shared/config/README.md)", "kubectl fence plan NODE"},
	api.DeviceUnreachable: {"mend the device's network, or its address; then have it read again", "kubectl fence plan --read NODE"},
	api.DeviceDenied:      {"correct the Secret in the message, or what the user may do on the device; then have it read again", "kubectl fence plan --read NODE"},
	api.MachineUnknown:    {"correct the ConfigMap in the message: the manager or cloud knows no such machine", "kubectl fence plan NODE"},
}

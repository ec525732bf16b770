// Package far reads the objects of Fence Agents Remediation (FenceAgentsRemediation and its
// template, group fence-agents-remediation.medik8s.io) as they are: which node one is about, which
// device it gives that node, what comes next for it, and its conditions in that project's own words.
// It decides by what was read, and touches nothing.
//
// What a reader must not get wrong: such an object only asks. nodefence makes a FenceRequest of it,
// and whatever holds for FenceRequests holds for it: the gate, all limits, and the proof. That an
// agent ended with exit code 0 proves nothing (S2: an exit code is no proof), so that the condition
// FenceAgentActionSucceeded is True only once the machine was proven off.
package far

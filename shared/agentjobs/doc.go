// Package agentjobs runs the fence agents of one device call in Jobs.
//
// What a reader must not get wrong: a pod is handed its call last, when its node has
// accepted it, and only the end of its container that its kubelet saw is an end. What was
// not seen to end may still act, until the time that the pod says (S2, S7, S10).
package agentjobs

// Package agentjobs runs the fence agents of one device call in Jobs.
//
// What a reader must not get wrong: a pod gets its call last, when its node has accepted it. A
// call has ended only if the kubelet saw the container end. A call that was not seen to end may
// still act, until the time that the pod names (S2, S7, S10).
package agentjobs

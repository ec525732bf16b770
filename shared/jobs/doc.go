// Package jobs runs what nodefence runs in Jobs: the fence agents of a device call
// (AgentRunner), and the checks of a fence (CheckRunner).
//
// What a reader must not get wrong:
//
//   - The pod of an agent gets its call last, when its node has accepted the pod. A call has
//     ended only if the kubelet saw the container end. A call that was not seen to end may still
//     act, until the time that the pod names (S2, S7, S10).
//   - A check gives an answer only once its Job has ended, and only an observed exit code of 1
//     says that the node is silent. A check mounts no volume that only one node at a time may
//     mount.
//   - No pod has rights, and no pod runs on the node that is fenced or checked (S13: never its
//     own machine). confine is called last, because it overwrites what a template asked for.
package jobs

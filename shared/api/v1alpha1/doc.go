// Package v1alpha1 holds nodefence's objects: NodeFence, FencePolicy and the
// FenceLedger.
//
// What a reader must not get wrong: the NodeFence is the truth about a fence.
// Whatever is not saved in it has not happened, and an event about it is only a
// reason to look.
//
// +kubebuilder:object:generate=true
// +groupName=nodefence.io
package v1alpha1

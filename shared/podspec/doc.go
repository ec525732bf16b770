// Package podspec removes from the pods of Jobs what they must not have.
//
// What a reader must not get wrong: call Confine last, when nothing is added to the pod any
// more. It overwrites what a template asked for, and keeps the pod off the node that is to
// be fenced or checked (S13: never its own machine).
package podspec

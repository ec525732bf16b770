// Package podspec takes from the pods of Jobs what they must not have.
//
// What a reader must not get wrong: Confine comes last, when nothing is added to the pod any
// more. It overwrites what a template asked for, and keeps the pod off the node that is
// to be fenced or asked about (S13).
package podspec

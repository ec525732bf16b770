// Package manifests builds what infra's kustomizations say, with the images of one release.
//
// What a reader must not get wrong: nothing is written here that a kustomization does not say.
// The chart and the bundle are made of these objects, so there is one source of truth.
package manifests

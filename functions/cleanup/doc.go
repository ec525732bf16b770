// Package cleanup frees the pods and volumes of a machine that is proven off.
//
// What a reader must not get wrong: it releases nothing by itself. Decide asks
// for a release only on a proof that is fresh, and each pod is deleted by its
// UID, so that a pod that came later under the same name is left alone.
package cleanup

// Package cleanup frees the pods and volumes of a machine that is proven off, and asks the pods of a
// node that still lives to leave before its machine is cut (DRAIN.md).
//
// What a reader must not get wrong: it releases nothing by itself. Decide asks for a
// release only with a fresh proof, and each pod is deleted by its UID, so that a later pod
// with the same name is left alone.
package cleanup

// Package bundle writes what a supporter needs into one archive: nodefence's objects and their
// Events, the nodes, how each is bound to its devices, logs, and why each fence stands where it
// stands.
//
// What a reader must not get wrong: it never reads a Secret. Of ConfigMaps and bound devices it keeps
// only values that are known to be harmless (configmaps.go), and what has one of the usual forms of a
// credential is taken out of every file (redact.go): that is help, and no proof. What may not be read is
// named in missing.txt, and is no error.
package bundle

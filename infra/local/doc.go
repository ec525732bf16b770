// Package local runs all of nodefence in one process against any cluster: the
// API-server source, a broker on disk, every function, and a second waker.
//
// What a reader must not get wrong: it keeps no state that matters. Its broker's
// files may be lost at any moment; the NodeFences say what is to be done.
package local

// Package local runs all of nodefence in one process against any cluster: the API-server
// source, a broker on disk, and every function.
//
// What a reader must not get wrong: the process keeps no state that matters. Its broker's
// files may be lost at any moment; the NodeFences say what is to be done.
package local

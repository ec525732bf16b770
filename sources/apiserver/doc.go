// Package apiserver is the one long-running part of nodefence: it watches nodes, their
// Leases and the NodeFences, and sends events about what changed and what is due.
//
// What a reader must not get wrong: this package decides nothing. If it sends too much,
// functions look and do nothing. If it sends too little, its own resync and the function
// resync send it later.
package apiserver

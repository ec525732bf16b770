// Package apiserver is the one long-running part of nodefence: it watches nodes,
// their Leases and the NodeFences, and sends events about what changed and what
// is due.
//
// What a reader must not get wrong: it decides nothing. If it sends too much,
// functions look and do nothing; if it sends too little, the resync and a second
// waker make up for it.
package apiserver

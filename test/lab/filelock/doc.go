// Package filelock makes processes take turns.
//
// The lock goes with the process that holds it, however that ends, so a lock
// file that lies around means nothing and is never removed.
package filelock

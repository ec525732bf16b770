// Package filelock lets processes take turns.
//
// The lock is released when the process that holds it ends, however it ends. So a lock file that
// is left over means nothing and is never removed.
package filelock

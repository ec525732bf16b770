// Package labdir keeps what is known about a running lab in a folder of its
// user, so that later commands find its processes and sockets.
//
// A folder is claimed under a lock and holds keys: nobody but its user may
// enter it, and a folder of that name that belongs to somebody else is refused.
package labdir

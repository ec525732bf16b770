// Package chaos ends nodefence at every point at which it can end, and sees
// that the fence goes on all the same.
package chaos

// Package kubebuild builds the control plane's executable once, and kubectl's, and keeps
// them in the user's cache.
//
// The cache key covers all that goes into the build, so what lies there is
// never stale; a build appears there by a rename, so what lies there is whole.
package kubebuild

// Package kubebuild builds the control plane's executable once, and kubectl's, and keeps
// them in the user's cache.
//
// The cache key covers everything that goes into the build, so a cached build is never stale. A
// build gets into the cache by a rename, so it is always complete.
package kubebuild

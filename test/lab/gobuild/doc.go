// Package gobuild has what is common to long builds of other people's programs, which are kept in
// the user's cache.
//
// What a reader must not get wrong: a build is found again by its key, so the key must cover
// everything that goes into the build.
package gobuild

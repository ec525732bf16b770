// Package gobuild is what builds of other people's programs have in common that take
// long, and are kept in the user's cache.
//
// What a reader must not get wrong: a build is found again by its key, in which
// everything has to be that goes into it.
package gobuild

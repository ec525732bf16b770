// Package adopt names the kinds of other projects' objects that nodefence answers as they are. Each
// kind has a package of its own below this one, which is pure: no client and no clock.
//
// What a reader must not get wrong: no kind is adopted unless the setting names it. An object of a
// kind that is not named is not read.
package adopt

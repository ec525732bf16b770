// Package mirror keeps what the API server has of nodes and of nodefence's objects, by lists and
// watches with a person's own credentials.
//
// What a reader must not get wrong: a kind that the person may not see, or that can't be read just
// now, is a Gap with words and not an empty list. What was read of it before is kept.
package mirror

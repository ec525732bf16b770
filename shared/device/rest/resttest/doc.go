// Package resttest is one machine of a cloud behind an HTTP API, which may
// misbehave in every way that the drivers' suite asks for. The API's own words
// are the test's that uses it.
//
// What a reader must not get wrong: nodefence's own authors wrote it and what it
// serves, from the clouds' public documents, and it was never compared with one
// of them. What passes here may still fail there.
package resttest

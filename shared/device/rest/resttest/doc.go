// Package resttest is one machine of a cloud behind an HTTP API, which can misbehave in
// every way that the drivers' suite asks for. The test that uses it supplies the API's own
// messages.
//
// What a reader must not get wrong: nodefence's own authors wrote it and its APIs, from the
// clouds' public documents, and it was never compared with a real cloud. What passes here
// may still fail there.
package resttest

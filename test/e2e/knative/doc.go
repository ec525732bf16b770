// Package knative shows nodefence on the real Knative Eventing: its unmodified
// broker, channels and controllers as processes against the lab's API server.
//
// What a reader must not get wrong: README.md says which parts are stand-ins.
package knative

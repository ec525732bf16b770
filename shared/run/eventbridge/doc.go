// Package eventbridge puts events on an Amazon EventBridge bus.
//
// What a reader must not get wrong: PutEvents answers 200 also when the bus has
// refused every entry. An event is sent when its own entry has an ID, and not
// before.
package eventbridge

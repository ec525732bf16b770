// Package slim drops the fields of watched objects that the source does not use, before the
// informers cache them. On a large cluster those fields are most of the memory.
//
// What a reader must not get wrong: a field that is dropped here reads as empty everywhere in
// the source, and nothing warns of it. Code that begins to use a field must keep it here first.
// An informer may pass an object through twice, so the second pass must lose nothing.
package slim

// Package fence decides. Decide takes the record, what was just seen, and the
// time, and says what the record becomes and the one thing to do next. It has no
// I/O, no clock and no logger, so that all it can ever do can be walked through.
//
// What a reader must not get wrong: an action's result is never evidence. Only
// what a later look saw moves a fence towards release.
package fence

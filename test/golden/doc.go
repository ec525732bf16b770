// Package golden compares what tests generate with the files in which it is kept.
//
// What a reader must not get wrong: with -update a test writes its files and passes,
// whatever they say. A reader of the diff must judge the change.
package golden

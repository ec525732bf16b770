// Package golden holds what tests generate to the files in which it stands.
//
// What a reader must not get wrong: with -update a test writes its files and passes,
// whatever they say. What changed is for a reader of the diff to judge.
package golden

// Package pages reads the examples on the repository's pages, for the tests that run them: each block
// of code is of one class, and each class has a test that takes every block of it.
//
// What a reader must not get wrong: a block of no class fails TestEveryExampleIsHeld. Give it a form
// that a test here takes; only what cannot run here is excepted, with the reason (excepted.go).
package pages

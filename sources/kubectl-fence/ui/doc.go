// Package ui serves the pages of kubectl fence ui on 127.0.0.1, with the caller's own credentials.
//
// What a reader must not get wrong: whoever gets in acts as the caller. So nobody gets in without
// the token that is printed on the caller's terminal (guard.go), a read changes nothing, and
// what changes anything needs a form of ours, sent by our own page.
package ui

// Package ipmitest stands between a driver and any BMC, and misbehaves in the BMC's name.
//
// What a reader must not get wrong: the relay knows the password, and so the keys of each
// session. Its forgeries are right in all but the one thing that each is about, so that
// each is believed by who does not check that one thing.
package ipmitest

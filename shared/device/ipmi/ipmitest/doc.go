// Package ipmitest stands between a driver and any BMC, and misbehaves in the BMC's name.
//
// What a reader must not get wrong: the relay knows the password, and so the keys of each
// session. Each of its forgeries is wrong in exactly one property, so that a driver which
// does not check that property believes it.
package ipmitest

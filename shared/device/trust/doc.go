// Package trust is by which certificate a device is believed, where it is
// spoken to by HTTPS.
//
// What a reader must not get wrong: who answers in a device's place can say that
// a machine is off. Without a check of the certificate nothing that is said is
// proof; only the operator's own explicit word turns it off.
package trust

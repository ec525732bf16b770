// Package trust says by which certificate a device is trusted, if the device is called over
// HTTPS, and makes the connection.
//
// What a reader must not get wrong: a stranger who answers in a device's place can say that
// a machine is off. Without a check of the certificate no answer is proof. Only the
// operator's own explicit setting turns the check off. And what a call has written must not
// arrive after the call has ended: connections are made by Dial alone.
package trust

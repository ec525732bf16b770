// Package manual stands for a machine that only a named person can switch.
//
// What a reader must not get wrong: it never knows the power. The proof that such a machine
// is off is the confirmation of a person who has the right to give it
// (spec.requests.confirmOff), and never an answer of this driver (S1: no release without a
// proof).
package manual

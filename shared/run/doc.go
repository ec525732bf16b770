// Package run serves one handler of CloudEvents wherever nodefence runs: behind Knative
// (HTTP), on Lambda, or on the local broker.
//
// What a reader must not get wrong: a broker repeats an event only if it is told to. Again
// asks for a repetition; every other result ends the event.
package run

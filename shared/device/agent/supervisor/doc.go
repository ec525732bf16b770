// Package supervisor runs one fence agent and ends it, and all that it started, when its time
// is over or when the program that asked for it has gone (S10).
//
// A program that imports this package is its own supervisor: started once more under Name, it
// supervises and ends before its main begins. That happens in an init, as the program may be
// large: initialising all of it takes ten times as long as an agent that has little to do.
//
// What a reader must not get wrong: Go initialises a package as soon as all that it imports is
// initialised, and of several in the order of their paths. So this one imports little, and
// nothing that needs reflect or unicode: not encoding/json, fmt, bytes, strings or x/sys/unix.
// With these it would wait for most of what crypto, encoding and github.com have to initialise.
// So its words are in a form of their own, and its timer is set by the one who starts it.
//
// A call of an agent that does nothing takes 16 ms in nodefence and 18 in nodefence-local, the
// median of 200 on two cores. The agent alone takes 2. The same supervisor as a program of its
// own (2 MB) would take 12: the rest is what Go needs to start a program that is large.
package supervisor

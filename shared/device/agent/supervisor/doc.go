// Package supervisor runs one fence agent and ends it, and all that it started, when its time
// is over or when the program that asked for it has gone (S10).
//
// A program that imports this package is its own supervisor: started once more under Name, it
// supervises and ends before its main begins. That happens in an init, as the program may be
// large: initialising all of it takes ten times as long as an agent that has little to do.
//
// What a reader must not get wrong: Go initialises packages in the order of their paths, each
// after what it imports. So this one imports little, and nothing of ours: what it does not
// need is not initialised before it.
package supervisor

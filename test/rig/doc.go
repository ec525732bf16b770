// Package rig puts nodefence and a lab together for tests, the demo and the
// benchmarks.
//
// What a reader must not get wrong: the lab is another program. The tests start it and talk to it
// by its command line; nothing of nodefence runs inside it.
package rig

// Package agent switches machines by ClusterLabs fence agents, the programs
// fence_<device> that clusters have had for many years.
//
// What a reader must not get wrong: an agent's exit code tells what the agent believes and not
// what is true (S2), and an agent that is told to stop may not do so (S10). So it runs under a
// supervisor that ends it and all that it started, and a reading of off counts only for a machine
// that is known to exist.
package agent

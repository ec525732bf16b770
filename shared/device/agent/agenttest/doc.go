// Package agenttest is a fence agent that misbehaves as it is told, with a machine
// that is some files beside it.
//
// What a reader must not get wrong: nodefence's own authors wrote it. How agents
// of others behave is shown only where those are run.
package agenttest

// Package asks takes events that ask for the fence of a node from senders in the cluster, each of which proves by a
// token who it is.
//
// What a reader must not get wrong: an event is accepted (202) only when the record of the fence stands in the API
// server, so that a process that dies after the answer loses nothing (S19: a lost event costs time only). An event without
// a token leads to nothing, also where a NodeProblemPolicy believes its source: that is for senders of a closed broker.
package asks

// Package fleet plays the machines of a lab: each has a kubelet that the API
// server sees and a BMC that the network sees, and power that both depend on.
//
// What a reader must not get wrong: cut off is not dead. A partitioned machine
// goes on writing to its volumes, and that is what fencing is for.
package fleet

// Package machine simulates the machines of a lab: each is a kubelet for the API server, and a
// BMC for the program that fences it.
//
// What a machine does ends with its kernel: a crash or a power cut stops its writers under the
// same lock that changes its state, while a partition stops only the network, so that its pods
// write until the network is back.
package machine

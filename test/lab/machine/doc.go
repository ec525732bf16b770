// Package machine simulates the machines of a lab: each is a kubelet to the API
// server and a BMC to whoever fences it.
//
// What a machine does ends with its kernel: a crash or a power cut stops its
// writers under the same lock that changes its state, while a partition stops
// nothing but the network, so its pods write on until it learns better.
package machine

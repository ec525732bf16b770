package main

import "time"

// manyNodes is from when on two cores carry the lab only with what it can be spared.
const manyNodes = 1501

// leaseOf reads how often each node renews its Lease; 0 is where nothing says it.
func leaseOf(lookup func(string) (string, bool), name string) (time.Duration, error) {
	if _, set := lookup(name); !set {
		return 0, nil
	}
	return long(lookup, name, 10*time.Second, time.Second, 25*time.Second)
}

// leaseAt is how often Leases are renewed where nothing says it. With 5,000 nodes it is as slowly as
// nodefence accepts, so that two cores carry the control plane too.
func leaseAt(set time.Duration, nodes int) time.Duration {
	switch {
	case set > 0:
		return set
	case nodes >= manyNodes:
		return 24 * time.Second
	}
	return 10 * time.Second
}

// kubelets are the lab's flags for so many nodes.
func kubelets(lease time.Duration, nodes int) []string {
	flags := []string{"--lease", lease.String(), "--status-period", "5m"}
	if nodes >= manyNodes {
		flags = append(flags, "--outlets=false") // there are not sockets enough for them
	}
	return flags
}

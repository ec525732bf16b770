package bringup

import (
	"fmt"
	"time"

	"github.com/nodefence/nodefence/test/lab/real"
)

// Options say what kind of lab to start.
type Options struct {
	Name  string
	Nodes int
	Zones int
	// Lease is how often a machine renews its Lease.
	Lease time.Duration
	// Status is how often a machine reports its node's status.
	Status time.Duration
	// Grace is how long a node may be silent until it is NotReady.
	Grace time.Duration
	// Eviction is how long pods stay on a node that is NotReady or
	// unreachable, unless they say otherwise.
	Eviction time.Duration
	// Outlets gives each machine two supplies. Without them it needs two sockets and not four,
	// which thousands of machines may not have.
	Outlets bool
	// SystemUUIDs are what the kubelets of these nodes report as system UUID in place of the
	// machine's UUID; "machine-id" is what a kubelet reports without SMBIOS.
	SystemUUIDs map[string]string
	// BMCUUIDs are what the BMCs of these nodes say in place of the machine's UUID.
	BMCUUIDs map[string]string
	// Real makes the machines real nodes, of containerd and kubelets; that needs root.
	Real bool
	// Fsync makes etcd keep its data through a power loss of this machine.
	Fsync bool
}

// Defaults are quicker than upstream's (Lease 10s, grace 50s, eviction 300s)
// by the same order of magnitude, so that a test sees a node die in seconds.
func Defaults() Options {
	return Options{
		Name:     "default",
		Nodes:    3,
		Zones:    1,
		Lease:    2 * time.Second,
		Status:   10 * time.Second,
		Grace:    8 * time.Second,
		Eviction: 5 * time.Second,
		Outlets:  true,
	}
}

func (o Options) check() error {
	switch {
	case o.Nodes < 0:
		return fmt.Errorf("bad number of nodes %d: use 0 (control plane alone) or more", o.Nodes)
	case o.Zones < 1:
		return fmt.Errorf("bad number of zones %d: use 1 or more", o.Zones)
	case o.Lease < 100*time.Millisecond:
		return fmt.Errorf("bad lease period %s: use 100ms or more", o.Lease)
	case o.Status < 100*time.Millisecond:
		return fmt.Errorf("bad status period %s: use 100ms or more", o.Status)
	case o.Grace < 2*o.Lease:
		return fmt.Errorf("bad grace %s with a lease period of %s: use at least two periods, or healthy nodes become NotReady", o.Grace, o.Lease)
	case o.Real && (o.Nodes < 1 || o.Nodes > real.MaxNodes):
		return fmt.Errorf("bad number of real machines %d: use 1 to %d", o.Nodes, real.MaxNodes)
	case o.Eviction < 0:
		return fmt.Errorf("bad eviction time %s: use 0s or more", o.Eviction)
	}
	return nil
}

// monitorPeriod is how often the controller manager looks at the nodes. It adds to the grace
// period, so it is much shorter than that; at most upstream's 5s.
func (o Options) monitorPeriod() time.Duration {
	return min(max(o.Grace/8, time.Second), 5*time.Second).Round(time.Second)
}

// readyLimit is how long all nodes together may take to become Ready.
func (o Options) readyLimit() time.Duration {
	return 3*time.Minute + time.Duration(o.Nodes)*100*time.Millisecond
}

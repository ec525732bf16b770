package apiserver

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/tracing"
	"github.com/nodefence/nodefence/sources/apiserver/acts"
	"github.com/nodefence/nodefence/sources/apiserver/asks"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/due"
	"github.com/nodefence/nodefence/sources/apiserver/gauges"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// Name is the source's name, as the functions have theirs.
const Name = "source"

// leaderLease is the Lease by which replicas elect the one that sends.
const leaderLease = "nodefence-source"

// Options are the choices of New.
type Options struct {
	Config *rest.Config
	Client *kube.Client
	Sender outbox.Sender
	Logger *slog.Logger
	// Source names this cluster in events.
	Source events.Source
	// Namespace is nodefence's own. It has the leader Lease and the enrolments.
	Namespace string
	// RequestNamespaces are those whose FenceRequests are watched.
	RequestNamespaces ask.Namespaces
	// Resync is how often what is unhealthy or overdue is sent again (S19).
	Resync time.Duration
	// CheckEvery is the interval in which each device of a node is read while nothing has
	// failed; with 0, devices are not read.
	CheckEvery time.Duration
	// Identity names this replica. With Elect, one of several replicas is active.
	Identity string
	Elect    bool
	// Self is the node that this process runs on, empty if it is none of the cluster's or the process serves no
	// function. A leader gives way to another replica that is to fence this node.
	Self string
	// Registerer, if set, gets the source's metrics.
	Registerer prometheus.Registerer
	// Traces makes a span of each event about a fence that is sent; nil for none.
	Traces *tracing.Tracer
}

// Source watches and sends. It has no state of its own: each of its parts has a lock. While
// a part holds its lock it calls only the outbox and the enrolment, which call no other
// part while they hold theirs; the due fences ask the nodes for their labels, too. A question
// that needs several parts asks one after the other.
type Source struct {
	o        Options
	now      func() time.Time
	outbox   *outbox.Outbox
	enrol    *enrolment
	standing *standings
	nodes    *nodeStore
	leases   *leases.Store
	due      *due.Store
	asks     *asks.Store
	problems *problemStore
	targets  *targetStore
	left     *leftovers
	counting *census.Store
	configs  *configStore
	acts     *acts.Store
	gauges   *gauges.Gauges
	own      ownNode
	wg       sync.WaitGroup
	// remembers is how often the ledger is read to notice a restore.
	remembers time.Duration
}

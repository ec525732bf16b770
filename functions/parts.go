package functions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/adopt"
	"github.com/nodefence/nodefence/functions/adopt/healthchecks"
	"github.com/nodefence/nodefence/functions/deadletter"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/policystatus"
	"github.com/nodefence/nodefence/functions/resync"
	kinds "github.com/nodefence/nodefence/shared/adopt"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/gce"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/readiness"
	"github.com/nodefence/nodefence/shared/remediation"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/tracing"
)

// Parts is what functions are made of.
type Parts struct {
	Settings
	Client   *kube.Client
	Source   events.Source
	Log      *slog.Logger
	Reporter report.Reporter
	// Traces makes a span of each invocation; nil where the settings ask for none, or cannot be used.
	Traces *tracing.Tracer
	// traceFault says why the settings of the traces cannot be used; empty if they can.
	traceFault string
	// Drivers are usually those of DriversIn.
	Drivers map[string]device.Kind
	// Sender reaches the broker; without it there is no resync.
	Sender run.Sender
	// Call calls the other functions directly, for resync. Without it resync sends through
	// the broker.
	Call run.Call
	// Handoff may be set only where every function runs in this process, and each gets the events
	// that the others send here.
	Handoff *loop.Handoff
	kept    *loop.RecordCache
	// lists has the ConfigMaps of nodes' devices for all functions of this process.
	lists  *binding.Lists
	resync *resync.Resyncer
	// healthChecks answers MachineHealthChecks; nil if the settings do not adopt them.
	healthChecks *healthchecks.Keeper
	adopts       *adopt.Adopter
}

// NewParts connects to the API server and finds the cluster's name.
func NewParts(ctx context.Context, s Settings, cfg *rest.Config, log *slog.Logger, reg prometheus.Registerer) (Parts, error) {
	if s.Adopt.Has(kinds.FAR) && len(s.FARNamespaces()) == 0 {
		return Parts{}, errors.New("NODEFENCE_ADOPT has far, and NODEFENCE_ADOPT_NAMESPACES has no namespace that NODEFENCE_REQUEST_NAMESPACES has too: add the one with the FenceAgentsRemediations to both, or take far out")
	}
	if err := s.timely(); err != nil {
		return Parts{}, err
	}
	client, err := kube.New(cfg)
	if err != nil {
		return Parts{}, err
	}
	if err := s.readMachinesAt(client); err != nil {
		return Parts{}, err
	}
	if s.Cluster == "" {
		if s.Cluster, err = client.ClusterID(ctx); err != nil {
			return Parts{}, err
		}
	}
	tellClocksApart(client.Clock(), log, reg)
	source := events.SourceOf(s.Cluster)
	traces, fault := tracing.New(ctx, s.Traces, strings.TrimSuffix("nodefence-"+s.Function, "-"), source, log, reg)
	p := Parts{
		healthChecks: healthChecks(client, s, log),
		Settings:     s, Client: client, Source: source, Log: log, Traces: traces, traceFault: fault,
		Reporter: traces.Reporter(report.New(log, client, reg, deciding(s.Function)...)), Drivers: DriversIn(client, s),
		lists: &binding.Lists{},
	}
	p.adopts = p.Adopter() // one for all clocks: it keeps what it has seen of a Lease
	return p, nil
}

// healthChecks answers MachineHealthChecks; nil if the settings do not adopt them.
func healthChecks(c *kube.Client, s Settings, log *slog.Logger) *healthchecks.Keeper {
	if !s.Adopt.Has(kinds.MHC) {
		return nil
	}
	return &healthchecks.Keeper{Objects: c, Function: policystatus.Name, Namespace: s.Namespace, Namespaces: s.AdoptNamespaces, Now: c.Clock().Now, Log: log}
}

// deciding are the functions of a process that decide on fences; function is the one that it serves,
// empty for all.
func deciding(function string) (names []string) {
	for _, p := range api.Phases {
		name := p.Owner()
		if name != "" && !slices.Contains(names, name) && (function == "" || function == name) {
			names = append(names, name)
		}
	}
	return names
}

// DriversIn returns the drivers of this build, for one cluster.
func DriversIn(c *kube.Client, s Settings) map[string]device.Kind {
	return binding.DriversIn(c.ForDrivers(), cmp.Or(s.GCEMetadata, gce.Metadata))
}

// resolver resolves and opens the devices of nodes.
func (p Parts) resolver() binding.Resolver {
	return binding.Resolver{
		Client: p.Client, Drivers: p.Drivers, Namespace: p.Namespace, SecretsNamespace: p.SecretsNamespace,
		JobsNamespace: p.JobsNamespace, JobImages: p.JobImages, AgentsDir: p.AgentsDir, Lists: p.lists, Adopts: p.FARNamespaces(), DeviceCall: p.LongestCall(),
	}
}

// Detail says for /readyz what is switched on and can't work yet; empty if all can.
func (p Parts) Detail() string {
	var all []string
	if a := p.Adopter(); a != nil && (p.Function == "" || p.Function == adopt.Name) {
		all = append(all, a.Detail())
	}
	if h := p.healthChecks; h != nil && (p.Function == "" || p.Function == policystatus.Name) {
		all = append(all, h.Detail())
	}
	all = append(all, p.traceFault)
	return strings.Join(slices.DeleteFunc(all, func(words string) bool { return words == "" }), "\n")
}

// Adopter makes the function adopt, for any clock; nil if nothing is adopted.
func (p Parts) Adopter() *adopt.Adopter {
	if p.adopts != nil || len(p.FARNamespaces()) == 0 {
		return p.adopts
	}
	clock := p.Client.Clock()
	return &adopt.Adopter{Objects: p.Client, Namespaces: p.FARNamespaces(), DeviceCall: p.LongestCall(), Now: clock.Now, Elapsed: clock.Elapsed, Log: p.Log}
}

// checker returns a function's part in reading the devices of healthy nodes.
func (p Parts) checker(function string) *readiness.Checker {
	r := p.resolver()
	return &readiness.Checker{
		Client: p.Client, Open: r.OpenFor, Devices: r.Devices, Whose: r.Whose, DeniedRest: p.DeniedRest, DeviceCall: p.LongestCall(),
		Function: function, Me: invocationID, Source: p.Source, Reporter: p.Reporter, Cuts: function == isolate.Name,
	}
}

// Planner returns the planner of these parts.
func (p Parts) Planner(ctx context.Context) (*binding.Planner, error) {
	return p.resolver().Planner(ctx)
}

// remediation are the Leases by which programs that remediate nodes take turns; nil if the settings
// name none.
func (p Parts) remediation() *remediation.Leases {
	if p.RemediationLeases == "" {
		return nil
	}
	clock := p.Client.Clock()
	return &remediation.Leases{Cluster: p.Client, Namespace: p.RemediationLeases, Now: clock.Now, Elapsed: clock.Elapsed, Conflict: kube.ErrConflict}
}

func (p Parts) loop(name string, owns []api.Phase, w loop.Function) *loop.Loop {
	return &loop.Loop{
		Function: name, Owns: owns, Store: p.Client, Does: w, Reporter: p.Reporter, Source: p.Source,
		Now: p.Client.Clock().Now, Elapsed: p.Client.Clock().Elapsed, Me: invocationID, Conflict: kube.ErrConflict,
		Records: p.kept, Handoff: p.Handoff,
	}
}

// known drops, without an error, an event that the function does not own, so that a wrong
// Trigger leads to a log line and to no action. It also drops an event that came too late
// to be carried out: a resync has sent a new one.
func (p Parts) known(name string, h run.Handler) run.Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		why := ""
		switch {
		case name == deadletter.Name:
			return h(ctx, e) // whatever the type, and however late
		case !Takes(name, e.Type()):
			why = "NotOwned"
		case events.Expired(e, p.Client.Clock().Now()):
			why = "Expired"
		default:
			ctx, wait := p.Client.WithBeside(ctx)
			defer wait()
			return h(ctx, e)
		}
		p.Reporter.Ignored(ctx, name, e, why)
		return nil, nil
	}
}

// invocationID tells one invocation from every other, over all replicas.
func invocationID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails on the systems that Go supports
	return hex.EncodeToString(b[:])
}

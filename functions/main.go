// Package functions is the table of contents: every function, every driver, and
// the only place where they are wired together.
//
// What a reader must not get wrong: a function knows no driver and no other
// function, and nothing registers itself. What is not in a table here does not run.
//
// It is a package rather than a program because three programs serve it: the
// functions' own (cmd/nodefence), the local runner, and what `func` builds.
package functions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"time"
	_ "time/tzdata" // for the policies' pause windows: an image has no time zones

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/deadletter"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	"github.com/nodefence/nodefence/functions/waker"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/gce"
	"github.com/nodefence/nodefence/shared/device/ipmi"
	"github.com/nodefence/nodefence/shared/device/machine"
	"github.com/nodefence/nodefence/shared/device/manual"
	"github.com/nodefence/nodefence/shared/device/networkfence"
	"github.com/nodefence/nodefence/shared/device/openstack"
	"github.com/nodefence/nodefence/shared/device/redfish"
	"github.com/nodefence/nodefence/shared/device/vsphere"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Drivers are the devices that this build can talk to, by name. Those that act by
// objects of the cluster can be bound and not opened: DriversIn opens them too.
var Drivers = drivers(nil, gce.Metadata)

// DriversIn are Drivers in one cluster.
func DriversIn(c *kube.Client, s Settings) map[string]device.Kind {
	return drivers(c.ForDrivers(), cmp.Or(s.GCEMetadata, gce.Metadata))
}

func drivers(in device.Cluster, metadata string) map[string]device.Kind {
	all := map[string]device.Kind{
		"azure":        azure.Kind(),
		"ec2":          ec2.Kind(),
		"ec2-network":  ec2.NetworkKind(),
		"gce":          gce.Kind(metadata),
		"ipmi":         ipmi.Kind(),
		"manual":       manual.Kind(),
		"networkfence": networkfence.Kind(in),
		"openstack":    openstack.Kind(),
		"redfish":      redfish.Kind(),
		"vsphere":      vsphere.Kind(),
	}
	all["machine"] = machine.Kind(in, all["azure"], all["ec2"], all["gce"], all["openstack"])
	return all
}

// table names every function and how it is made.
var table = map[string]func(Parts) run.Handler{
	gate.Name: func(p Parts) run.Handler {
		g := &gate.Gate{Client: p.Client, Bind: p.bindings().Bind, Self: p.Self, Namespace: p.Namespace, Checks: p.ChecksNamespace, Networks: p.NodeNetworks, KubeletPort: p.KubeletPort, NeighborsImage: p.NeighborsImage, DeviceCall: p.DeviceCall, Log: p.Log, Reporter: p.Reporter}
		g.Loop = p.loop(gate.Name, gate.Phases, g)
		return g.Handle
	},
	isolate.Name: func(p Parts) run.Handler {
		i := &isolate.Isolator{Client: p.Client, Open: p.bindings().OpenFor, Whose: p.bindings().Whose, Self: p.Self, Checks: p.checker(isolate.Name)}
		i.Loop = p.loop(isolate.Name, isolate.Phases, i)
		return i.Handle
	},
	power.Name: func(p Parts) run.Handler {
		w := &power.Power{Client: p.Client, Open: p.bindings().OpenFor, Whose: p.bindings().Whose, Self: p.Self, Checks: p.checker(power.Name)}
		w.Loop = p.loop(power.Name, power.Phases, w)
		return w.Handle
	},
	cleanup.Name: func(p Parts) run.Handler {
		c := &cleanup.Cleaner{Client: p.Client, Log: p.Log, Reporter: p.Reporter}
		c.Loop = p.loop(cleanup.Name, cleanup.Phases, c)
		return c.Handle
	},
	recovery.Name: func(p Parts) run.Handler {
		r := &recovery.Recoverer{Client: p.Client, Log: p.Log}
		r.Loop = p.loop(recovery.Name, recovery.Phases, r)
		return r.Handle
	},
	deadletter.Name: func(p Parts) run.Handler {
		return (&deadletter.Teller{Fence: p.Client.Fence, Lost: p.Reporter.Lost}).Handle
	},
	waker.Name: func(p Parts) run.Handler { return p.Waker().Handle },
}

// Settings are read once from the environment.
type Settings struct {
	// Function is which function this process serves; empty serves all by event type.
	Function string `envconfig:"NODEFENCE_FUNCTION"`
	// Namespace holds the fence-config ConfigMaps.
	Namespace string `envconfig:"NODEFENCE_NAMESPACE" default:"nodefence-system"`
	// SecretsNamespace holds the devices' Secrets.
	SecretsNamespace string `envconfig:"NODEFENCE_SECRETS_NAMESPACE" default:"nodefence-devices"`
	// ChecksNamespace holds the Jobs of activity checks, and what they are made of.
	ChecksNamespace string `envconfig:"NODEFENCE_CHECKS_NAMESPACE" default:"nodefence-checks"`
	// NodeNetworks are those that nodes are in, as CIDRs: checks connect to no other.
	NodeNetworks gate.Networks `envconfig:"NODEFENCE_NODE_NETWORKS"`
	// KubeletPort is where checks find the kubelets; what each Node reports if zero.
	KubeletPort int32 `envconfig:"NODEFENCE_KUBELET_PORT"`
	// NeighborsImage is what checks of type Neighbors run.
	NeighborsImage string `envconfig:"NODEFENCE_NEIGHBORS_IMAGE"`
	// JobsNamespace holds the Jobs of fence agents, and for moments what they are
	// told.
	JobsNamespace string `envconfig:"NODEFENCE_JOBS_NAMESPACE" default:"nodefence-jobs"`
	// JobImages are what such Jobs may be made of.
	JobImages []string `envconfig:"NODEFENCE_JOB_IMAGES"`
	// AgentsDir has the ClusterLabs agents, for devices without a driver of ours.
	AgentsDir string `envconfig:"NODEFENCE_AGENTS_DIR" default:"/usr/sbin"`
	// DeniedRest is how long the checks leave a device alone that has refused the account.
	DeniedRest time.Duration `envconfig:"NODEFENCE_CHECK_DENIED_INTERVAL" default:"1h"`
	// DeviceCall is the longest that one call to a device may take, from 1s to 20s; the
	// gate records it in each fence that it opens.
	DeviceCall gate.CallTimeout `envconfig:"NODEFENCE_DEVICE_CALL_TIMEOUT" default:"20s"`
	// Cluster is this cluster's name in events; the UID of kube-system if empty.
	Cluster string `envconfig:"NODEFENCE_CLUSTER"`
	// Self is the node that this process runs on, from the downward API, or NoNode (S13).
	Self string `envconfig:"NODE_NAME"`
	// Direct is what the second waker calls a function by, past the broker, with
	// {function} for its name: a URL, or on AWS the name of a Lambda function.
	Direct string `envconfig:"NODEFENCE_DIRECT"`
	// GCEMetadata is a host, with its port, that stands in for Compute Engine's metadata
	// server, by the name that Google's own tools have for it.
	GCEMetadata string `envconfig:"GCE_METADATA_HOST"`
	// Kubeconfig is a file; the pod's own account if empty.
	Kubeconfig string `envconfig:"KUBECONFIG"`
	// Port to listen on.
	Port int `envconfig:"PORT" default:"8080"`
}

// Parts are what functions are made of.
type Parts struct {
	Settings
	Client   *kube.Client
	Source   events.Source
	Log      *slog.Logger
	Reporter report.Reporter
	// Drivers are usually those of DriversIn.
	Drivers map[string]device.Kind
	// Sender reaches the broker; without one there is no waker.
	Sender run.Sender
	// Call reaches the other functions past the broker, for the waker; the waker sends
	// through the broker without it.
	Call  run.Call
	kept  *loop.RecordCache
	waker *waker.Waker
}

// NewParts connects to the API server and names the cluster.
func NewParts(ctx context.Context, s Settings, cfg *rest.Config, log *slog.Logger, reg prometheus.Registerer) (Parts, error) {
	client, err := kube.New(cfg)
	if err != nil {
		return Parts{}, err
	}
	if s.Cluster == "" {
		if s.Cluster, err = client.ClusterID(ctx); err != nil {
			return Parts{}, err
		}
	}
	tellClocksApart(client.Clock(), log, reg)
	return Parts{
		Settings: s, Client: client, Source: events.SourceOf(s.Cluster), Log: log,
		Reporter: report.New(log, client, reg), Drivers: DriversIn(client, s),
	}, nil
}

// Owner is the function that an event type is for; empty if for none. The
// Triggers say the same, and a test holds the two together.
func Owner(eventType string) string {
	switch eventType {
	case events.NodeUnhealthy, events.NodeHealthy, events.NodeProblem, events.NodeSuspect, events.NodeDumping:
		return gate.Name
	case events.NodeMarked:
		return recovery.Name
	case events.NodeCheck:
		return power.Name
	case events.NodeCheckIsolation:
		return isolate.Name
	case events.PodsFailing:
		return cleanup.Name
	case events.Ping, events.Scheduled:
		return waker.Name
	}
	if events.Asks(eventType) || events.IsHint(eventType) {
		return gate.Name
	}
	p, ok := events.PhaseOf(eventType)
	if !ok {
		return ""
	}
	for name, phases := range owners {
		for _, q := range phases {
			if p == q {
				return name
			}
		}
	}
	return ""
}

var owners = map[string][]api.Phase{
	gate.Name: gate.Phases, isolate.Name: isolate.Phases, power.Name: power.Phases,
	cleanup.Name: cleanup.Phases, recovery.Name: recovery.Phases,
}

// known acknowledges what the function does not own, so that a wrong Trigger
// leads to a log line and to no action, and what came too late to be carried
// out: a resync has sent it anew.
func (p Parts) known(name string, h run.Handler) run.Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		why := ""
		switch {
		case name == deadletter.Name:
			return h(ctx, e) // whatever its type, and however late
		case Owner(e.Type()) != name:
			why = "NotOwned"
		case events.Expired(e, p.Client.Clock().Now()):
			why = "Expired"
		default:
			return h(ctx, e)
		}
		p.Reporter.Ignored(ctx, name, e, why)
		return nil, nil
	}
}

func (p Parts) loop(name string, owns []api.Phase, w loop.Function) *loop.Loop {
	return &loop.Loop{
		Function: name, Owns: owns, Store: p.Client, Does: w, Reporter: p.Reporter, Source: p.Source,
		Now: p.Client.Clock().Now, Me: invocationID, Conflict: kube.ErrConflict, Records: p.kept,
	}
}

// invocationID tells one invocation from every other, over all replicas.
func invocationID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails on the systems that Go supports
	return hex.EncodeToString(b[:])
}

package binding

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/kube"
)

// Resolver resolves and opens the devices of nodes.
type Resolver struct {
	Client *kube.Client
	// Drivers are usually those of DriversIn.
	Drivers map[string]device.Kind
	// Namespace holds the fence-config ConfigMaps.
	Namespace string
	// SecretsNamespace holds the devices' Secrets.
	SecretsNamespace string
	// JobsNamespace holds the Jobs of fence agents.
	JobsNamespace string
	// JobImages are the images that such Jobs may use.
	JobImages []string
	// AgentsDir has the ClusterLabs agents, for devices without a driver of ours.
	AgentsDir string
	// DeviceCall is the longest that one call to a device may take; the usual if zero.
	DeviceCall time.Duration
	// Adopts are the namespaces whose FenceAgentsRemediations and templates give nodes' devices; none
	// if they are not adopted.
	Adopts ask.Namespaces
	// Lists keeps the ConfigMaps between two invocations of this process; nil if each lists them.
	Lists *Lists
}

func (b Resolver) settings() config.Settings {
	s := config.Settings{Kinds: b.Drivers, Agents: agents, Aliases: aliases}
	if b.AgentsDir != "" {
		s.Find = func(name string) (device.Kind, error) { return agent.Any(name, b.AgentsDir) }
	}
	s.Job = func(name string) (device.Kind, error) { return b.inJobs(name, 0, nil) }
	return s
}

// inJobs is the kind of an agent that runs in pods. What was bound is waited for as long as its
// effect delay says. So its pods act no longer than that allows, though the process that bound it
// was set to shorter calls than this one (S8); with delay zero nothing is bound yet.
func (b Resolver) inJobs(name string, delay time.Duration, r job.Runner) (device.Kind, error) {
	inner, err := agent.Declared(name, b.AgentsDir)
	if err != nil {
		return device.Kind{}, err
	}
	limit := cmp.Or(b.DeviceCall, api.DeviceCall)
	if delay > 0 {
		limit = max(0, min(limit, delay-inner.EffectDelay-job.Late(0)))
	}
	return job.Kind(inner, b.JobImages, limit, r), nil
}

func (b Resolver) kind(bound *api.Binding, r job.Runner) (device.Kind, error) {
	find := b.settings().Find
	switch kind, ok := b.Drivers[bound.Driver]; {
	case ok:
		return kind, nil
	case bound.Driver == job.Name:
		return b.inJobs(bound.Params[job.AgentName], bound.EffectDelay.Duration, r)
	case find != nil && strings.HasPrefix(bound.Driver, "fence_"):
		return find(bound.Driver)
	}
	return device.Kind{}, fmt.Errorf("driver %q is not in this build", bound.Driver)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	"github.com/nodefence/nodefence/test/rig"
)

// speedPolicy lets nothing but work hold a fence, also of a node that was fenced before.
const speedPolicy = `
recovery: {readyDuration: 0s}
limits: {maxUnhealthy: "60%", maxConcurrent: 20, stormCoolDown: 0s, perNode: {cutsPerDay: 100}}
`

// speedSettings are what is measured.
type speedSettings struct {
	sizes []int
	// fences is how many there are of each device at each size.
	fences int
	// lease is how often each node renews its Lease; 0 is what this machine can carry.
	lease time.Duration
	// checks is how often the devices of healthy nodes are read, as --check-interval; 0: never.
	checks time.Duration
	trace  bool
}

// speedOf reads the settings, and refuses them as a whole.
func speedOf(lookup func(string) (string, bool)) (s speedSettings, err error) {
	errs := make([]error, 4)
	s.sizes, errs[0] = numbers("SPEED", setTo(lookup, "SPEED", "20 500 1500"), 8, 5000)
	s.fences, errs[1] = one(lookup, "SPEED_FENCES", fences, 1, 500)
	s.lease, errs[2] = leaseOf(lookup, "SPEED_LEASE")
	s.checks, errs[3] = long(lookup, "SPEED_CHECKS", 10*time.Minute, 0, time.Hour)
	s.trace = setTo(lookup, "SPEED_TRACE", "") == "1"
	if text := setTo(lookup, "SPEED_TRACE", "0"); text != "0" && text != "1" {
		errs = append(errs, fmt.Errorf("SPEED_TRACE has %q: write 1 for a time line, or leave it out", text))
	}
	return s, errors.Join(errs...)
}

// measureSpeed has one node after another fall silent, and measures until its device is told
// Off, and later until its fence is closed.
func measureSpeed(ctx context.Context) error {
	s, err := speedOf(os.LookupEnv)
	if err != nil {
		return err
	}
	var errs []error
	for _, nodes := range s.sizes {
		errs = append(errs, s.at(ctx, nodes))
	}
	return errors.Join(errs...)
}

func (s speedSettings) at(ctx context.Context, nodes int) (err error) {
	s.lease = leaseAt(s.lease, nodes)
	// The node controller writes nothing: when Ready becomes Unknown is for the measurement.
	c, err := world(ctx, nodes, append(kubelets(s.lease, nodes), "--grace", "2h", "--eviction", "300s")...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	m := &speed{bench: c, settings: s, calls: &trace{}, ledger: &ledgerWrites{}}
	if m.agents, err = newAgentBox(c.dir); err != nil {
		return err
	}
	if err := m.bindAll(ctx); err != nil {
		return err
	}
	log := &rig.Log{}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(os.TempDir(), "nodefence-bench-speed.log"), log.Bytes(), 0o600))
		}
	}()
	p, err := c.Start(ctx, c.dir, log, func(o *local.Options) {
		o.Config.Wrap(m.calls.wrap)
		o.Config.Wrap(m.ledger.wrap)
		o.Settings.AgentsDir, o.CheckEvery = m.agents.dir, s.checks
	})
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := settled(ctx, c.Cluster, nodes); err != nil {
		return err
	}
	if err := m.resolved(ctx); err != nil {
		return err
	}
	if m.trip, err = roundTrip(ctx, c.Cluster, m.pool[ipmiDevice][0]); err != nil {
		return err
	}
	if err := m.all(ctx); err != nil {
		return err
	}
	return m.print(nodes)
}

// resolved waits until the devices of the nodes that fall silent were read, and are kept resolved,
// as those of every node are a while after nodefence was started. It takes some 1 s for each
// node of the cluster.
func (m *speed) resolved(ctx context.Context) error {
	if m.settings.checks == 0 {
		return nil
	}
	for _, device := range speedDevices {
		for _, node := range m.pool[device] {
			err := rig.Until(ctx, "the devices of "+node+" to be read", func() (bool, error) {
				t, err := m.Fences.Target(ctx, node)
				return err == nil && t != nil && t.Status.Binding != nil, nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// settled waits until every Lease is watched, every node is enrolled, and a picture of the
// Leases may be counted on.
func settled(ctx context.Context, c *rig.Cluster, nodes int) error {
	var listed time.Time
	return rig.Until(ctx, "all Leases to be watched, and every node to be enrolled", func() (bool, error) {
		l, err := c.Fences.Ledger(ctx)
		if err != nil || int(l.Status.Leases.Total) != nodes {
			return false, nil
		}
		p := l.Status.Leases
		if p.Since == nil || p.ObservedAt == nil || p.ObservedAt.Sub(p.Since.Time) < 2*p.Renewal.Duration {
			return false, nil
		}
		if time.Since(listed) < time.Duration(nodes)*time.Millisecond {
			return false, nil // that list grows with the nodes, and would slow down what is waited for
		}
		listed = time.Now()
		all, err := c.Fences.ConfigMaps(ctx, rig.Settings().Namespace)
		enrolled := 0
		for i := range all {
			if !strings.HasPrefix(all[i].Name, "fence-config-") {
				enrolled++
			}
		}
		return err == nil && enrolled >= nodes, nil
	})
}

// The devices that are told Off.
const ipmiDevice, agentDevice = "ipmi", "agent"

var speedDevices = []string{ipmiDevice, agentDevice}

// speed is one measurement in one lab.
type speed struct {
	*bench
	settings speedSettings
	calls    *trace
	ledger   *ledgerWrites
	agents   agentBox
	// pool are the nodes that fall silent, by the device that they have.
	pool map[string][]string
	trip []time.Duration
	done []speedFence
	// conflicts are those of the ledger.
	written, conflicts int
}

// bindAll gives each machine its BMC, and some the agent, in equal numbers.
func (m *speed) bindAll(ctx context.Context) error {
	machines, err := m.Lab.Machines()
	if err != nil {
		return err
	}
	m.pool = map[string][]string{}
	names := slices.Sorted(maps.Keys(machines))
	n := min(m.settings.fences, len(names)/2)
	for i, name := range names {
		switch {
		case i < n:
			m.pool[ipmiDevice] = append(m.pool[ipmiDevice], name)
		case i < 2*n:
			m.pool[agentDevice] = append(m.pool[agentDevice], name)
			if err := m.plugIn(ctx, name); err != nil {
				return err
			}
			continue
		}
		if err := m.BindOne(ctx, machines[name]); err != nil {
			return err
		}
	}
	for _, name := range m.pool[ipmiDevice] {
		if err := settleSoon(ctx, m.Cluster, name); err != nil {
			return err
		}
	}
	return m.Apply(ctx, rig.Policy("default", speedPolicy))
}

// plugIn gives a machine to the agent.
func (m *speed) plugIn(ctx context.Context, node string) error {
	if err := m.agents.add(node); err != nil {
		return err
	}
	return bindAgent(ctx, m.Cluster, node, m.agents.at[node])
}

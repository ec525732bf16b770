package main

import (
	"cmp"
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
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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
	lease  time.Duration
	trace  bool
}

// speedOf reads the settings, and refuses them as a whole.
func speedOf(lookup func(string) (string, bool)) (s speedSettings, err error) {
	errs := make([]error, 3)
	s.sizes, errs[0] = numbers("SPEED", setTo(lookup, "SPEED", "20 500 1500"), 8, 5000)
	s.fences, errs[1] = one(lookup, "SPEED_FENCES", fences, 1, 500)
	s.lease, errs[2] = long(lookup, "SPEED_LEASE", 10*time.Second, time.Second, 25*time.Second)
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
	// The node controller writes nothing: when Ready becomes Unknown is for the measurement.
	c, err := world(ctx, nodes, "--lease", s.lease.String(), "--grace", "2h", "--status-period", "5m", "--eviction", "300s")
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
		o.Settings.AgentsDir = m.agents.dir
	})
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := settled(ctx, c.Cluster, nodes); err != nil {
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

// settled waits until every Lease is watched, every node is enrolled, and a picture of the
// Leases may be counted on.
func settled(ctx context.Context, c *rig.Cluster, nodes int) error {
	return rig.Until(ctx, "all Leases to be watched, and every node to be enrolled", func() (bool, error) {
		l, err := c.Fences.Ledger(ctx)
		if err != nil || int(l.Status.Leases.Total) != nodes {
			return false, nil
		}
		p := l.Status.Leases
		if p.Since == nil || p.ObservedAt == nil || p.ObservedAt.Sub(p.Since.Time) < 2*p.Renewal.Duration {
			return false, nil
		}
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

// speedFence is one fence, measured.
type speedFence struct {
	node, device string
	// silent is when the API server had Ready=Unknown, off when the device was told, ready
	// when the API server had Ready=True after the Lease had moved, closed when it had the
	// last write of the record.
	silent, off, ready, closed time.Time
	// begun is when Ready=Unknown was sent: a watch may be quicker than the answer.
	begun time.Time
	told  []mark
}

// together is how many nodes of each device are silent at once: never most of the Leases.
func together(nodes int) int { return min(max(nodes/5, 1), 5) }

// all has the fences follow each other, by turns of the devices. Some nodes are cut off
// together, and their Leases stand still before the first of them counts as silent.
func (m *speed) all(ctx context.Context) error {
	m.ledger.take()
	at := map[string]int{}
	machines, err := m.Lab.Machines()
	if err != nil {
		return err
	}
	for left := m.settings.fences; left > 0; {
		n := min(left, together(len(machines)), len(m.pool[ipmiDevice]))
		var batch []speedFence
		for range n {
			for _, d := range speedDevices {
				batch = append(batch, speedFence{node: m.pool[d][at[d]%len(m.pool[d])], device: d})
				at[d]++
			}
		}
		if err := m.batch(ctx, batch); err != nil {
			return err
		}
		left -= n
		fmt.Fprintf(os.Stderr, "%d of %d fences\n", len(m.done), m.settings.fences*len(speedDevices))
	}
	m.written, m.conflicts = m.ledger.take()
	return nil
}

func (m *speed) batch(ctx context.Context, batch []speedFence) error {
	var nodes []string
	for _, f := range batch {
		nodes = append(nodes, f.node)
		if err := onePod(ctx, m.Cluster, f.node); err != nil {
			return err
		}
	}
	if err := m.Lab.AtOnce(nodes, "partition"); err != nil {
		return err
	}
	if err := pause(ctx, 2*m.settings.lease+m.settings.lease/5); err != nil {
		return err
	}
	for _, f := range batch {
		if err := m.fence(ctx, &f); err != nil {
			return fmt.Errorf("%s: %w", f.node, err)
		}
		m.done = append(m.done, f)
	}
	if err := m.Lab.AtOnce(nodes, "heal"); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := renewed(ctx, m.Cluster, node); err != nil {
			return err
		}
	}
	return nil
}

// fence measures one.
func (m *speed) fence(ctx context.Context, f *speedFence) (err error) {
	f.begun = time.Now()
	if f.silent, err = markSilent(ctx, m.Cluster, f.node); err != nil {
		return err
	}
	if _, err := m.since(ctx, f, api.Recovering, api.Fenced); err != nil {
		return err
	}
	if f.told, err = m.toldOf(f); err != nil {
		return err
	}
	for _, t := range f.told {
		if t.text == "off" && f.off.IsZero() {
			f.off = t.at
		}
	}
	if f.off.IsZero() {
		return errors.New("its device was not told Off")
	}
	if f.device == agentDevice { // which nodefence does not switch on again
		if err := m.agents.on(f.node); err != nil {
			return err
		}
	}
	if f.ready, err = markReady(ctx, m.Cluster, f.node); err != nil {
		return err
	}
	if _, err := m.since(ctx, f, api.Finished); err != nil {
		return err
	}
	return rig.Until(ctx, "the answer to the last write of its record", func() (bool, error) {
		for _, c := range m.calls.between(f.ready, time.Now()) {
			if c.object == f.node && c.phase == string(api.Finished) && f.closed.IsZero() {
				f.closed = c.end
			}
		}
		return !f.closed.IsZero(), nil
	})
}

// since waits for a phase of the fence that was opened for this silence.
func (m *speed) since(ctx context.Context, f *speedFence, phases ...api.Phase) (*api.NodeFence, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var seen *api.NodeFence
	err := rig.Until(ctx, fmt.Sprintf("its fence to be %v", phases), func() (bool, error) {
		now, err := m.Fences.Fence(ctx, f.node)
		if err != nil || now == nil {
			return false, nil
		}
		seen = now
		opened := seen.Status.OpenedAt
		return slices.Contains(phases, seen.Status.Phase) && opened != nil && opened.After(f.silent.Add(-time.Second)), nil
	})
	if err != nil && seen != nil {
		err = fmt.Errorf("%w; it is %s: %s\n%s", err, seen.Status.Phase, seen.Status.Message, rig.Story(seen))
	}
	return seen, err
}

// toldOf is what the fence's device was told from its silence on, reads included.
func (m *speed) toldOf(f *speedFence) ([]mark, error) {
	all, err := m.agents.told(f.node)
	if f.device == ipmiDevice {
		all, err = bmcLog(m.Lab.Name, f.node)
	}
	return slices.DeleteFunc(all, func(t mark) bool { return t.at.Before(f.silent.Add(-50 * time.Millisecond)) }), err
}

// of are the fences of one device.
func (m *speed) of(device string) (all []speedFence) {
	for _, f := range m.done {
		if f.device == device {
			all = append(all, f)
		}
	}
	return all
}

func (m *speed) print(nodes int) error {
	one := quantile(m.trip, .5)
	fmt.Printf("\n%d nodes, Lease %s: one fence after the other, %d of each device\n", nodes, m.settings.lease, m.settings.fences)
	fmt.Printf("PATCH of a Node's status: %s\n", quantiles(m.trip))
	for _, device := range speedDevices {
		var off, closed []time.Duration
		var before, whole []call
		all := m.of(device)
		for _, f := range all {
			off = append(off, f.off.Sub(f.silent))
			closed = append(closed, f.closed.Sub(f.ready))
			before = append(before, m.calls.between(f.begun, f.off)...)
			whole = append(whole, m.calls.between(f.begun, f.closed)...)
		}
		fmt.Printf("%s: Ready=Unknown → device is told Off: %s; %s\n", device, quantiles(off), roundTrips(off, one))
		fmt.Printf("%s: Ready=True → fence closed: %s; %s\n", device, quantiles(closed), roundTrips(closed, one))
		err := errors.Join(functionTable(os.Stdout, device+": requests before the Off, for each fence", before, len(all)),
			functionTable(os.Stdout, device+": requests of a fence and its recovery", whole, len(all)))
		fmt.Printf("%s: what took longest before the Off, for each fence\n", device)
		if err := errors.Join(err, costliest(os.Stdout, before, len(all), 12)); err != nil {
			return err
		}
	}
	fmt.Printf("writes of the ledger: %d, of them conflicts: %d\n", m.written, m.conflicts)
	if !m.settings.trace {
		return nil
	}
	return m.timeLines()
}

// timeLines prints the fence of each device whose Off came in the median time, and the one
// whose Off came last.
func (m *speed) timeLines() error {
	for _, device := range speedDevices {
		all := slices.SortedFunc(slices.Values(m.of(device)), func(a, b speedFence) int {
			return cmp.Compare(a.off.Sub(a.silent), b.off.Sub(b.silent))
		})
		if err := errors.Join(m.timeLine("median", all[(len(all)-1)/2]), m.timeLine("slowest", all[len(all)-1])); err != nil {
			return err
		}
	}
	return nil
}

func (m *speed) timeLine(which string, f speedFence) error {
	marks := []mark{{f.silent, "the API server has Ready=Unknown"}, {f.ready, "the API server has Ready=True"}, {f.closed, "closed"}}
	for _, t := range f.told {
		marks = append(marks, mark{t.at, "the device is told " + t.text})
	}
	asking := busy(slices.DeleteFunc(m.calls.between(f.begun, f.off), ofBeside), f.silent, f.off)
	fmt.Printf("\n%s, the %s fence (%s), in ms since Ready=Unknown\n", f.device, which, f.node)
	fmt.Printf("until the Off %s ms, in %s of them a function waited for the API server\n", ms(f.off.Sub(f.silent)), ms(asking))
	return timeLine(f.silent, m.calls.between(f.begun, f.closed.Add(10*time.Millisecond)), marks)
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

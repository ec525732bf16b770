package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/machine/bmc"
	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// Config says what to simulate.
type Config struct {
	Kubeconfig string
	Nodes      int
	// NodePrefix and a number from 0 on are the nodes' names; "node-" if empty.
	NodePrefix string
	// LeasePeriod is how often a Lease is renewed, 2s if zero. It lasts for
	// four of them.
	LeasePeriod time.Duration
	// StatusPeriod is how often a node reports its status though nothing has
	// changed, 10s if zero.
	StatusPeriod time.Duration
	// Zones is the number of zones over which the nodes are spread, 1 if zero.
	Zones int
	// Outlets gives each machine two supplies, which are switched over IPMI too.
	Outlets bool
	// SystemUUIDs and BMCUUIDs are what kubelets and BMCs of these nodes say in place of the
	// machine's UUID.
	SystemUUIDs, BMCUUIDs map[string]string
	// BootTime is how long a machine takes from power-on to its kubelet, 1s if
	// zero.
	BootTime time.Duration
	// StateDir is the folder for the journals.
	StateDir string
	// Socket is the control API's.
	Socket string
}

func (c Config) withDefaults() Config {
	c.NodePrefix = orElse(c.NodePrefix, "node-")
	c.LeasePeriod = orElse(c.LeasePeriod, 2*time.Second)
	c.StatusPeriod = orElse(c.StatusPeriod, 10*time.Second)
	c.BootTime = orElse(c.BootTime, time.Second)
	c.Zones = orElse(c.Zones, 1)
	return c
}

func orElse[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// lab is all machines and what they share.
type lab struct {
	config  Config
	cluster *cluster
	ledger  *writers.Ledger
	// bmcs is the journal of all BMCs.
	bmcs  io.Writer
	names []string
	nodes map[string]*node
	wg    sync.WaitGroup
	// relist makes all machines read the cluster again.
	relist func() error
}

// node is a machine with its BMC.
type node struct {
	*hardware
	bmc      *bmc.BMC
	outlets  map[string]*bmc.BMC
	username string
	password string
}

// Run simulates the machines until ctx ends or they can't go on.
func Run(ctx context.Context, config Config) error {
	client, err := connect(config.Kubeconfig)
	if err != nil {
		return err
	}
	journal, err := openJournal(config, WritersFile)
	if err != nil {
		return err
	}
	defer journal.Close()
	bmcs, err := openJournal(config, BMCsFile)
	if err != nil {
		return err
	}
	defer bmcs.Close()
	if err := registerStorage(ctx, client); err != nil {
		return err
	}
	l := &lab{config: config.withDefaults(), cluster: &cluster{client: client}, ledger: writers.New(journal, time.Now), bmcs: bmcs, nodes: map[string]*node{}}
	ctx, cancel := context.WithCancel(ctx)
	err = l.run(ctx)
	cancel()
	l.wg.Wait()
	return errors.Join(err, l.ledger.Err())
}

// WritersFile and BMCsFile are journals in the StateDir, a JSON text a line.
const (
	WritersFile = "writers.jsonl"
	BMCsFile    = "bmcs.jsonl"
)

func openJournal(config Config, name string) (*os.File, error) {
	journal, err := os.OpenFile(filepath.Join(config.StateDir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return journal, nil
}

func (l *lab) run(ctx context.Context) error {
	ports, err := newPorts(ctx, l.config.Nodes)
	if err != nil {
		return err
	}
	for i, port := range ports {
		if err := l.build(ctx, i, port); err != nil {
			return err
		}
	}
	if err := l.watch(ctx); err != nil {
		return err
	}
	for _, name := range l.names {
		n := l.nodes[name]
		for _, b := range append(slices.Collect(maps.Values(n.outlets)), n.bmc) {
			l.wg.Go(func() {
				if err := b.Serve(ctx); err != nil {
					slog.Error("BMC failed", "node", n.name, "error", err)
				}
			})
		}
		n.firstBoot()
	}
	return l.serve(ctx)
}

func (l *lab) watch(ctx context.Context) error {
	c := l.cluster
	attachments, claims, volumes := newQueue("attachments", c.handleAttachment), newQueue("claims", c.handleClaim), newQueue("volumes", c.handleVolume)
	subscribe := func(v *view) error {
		core := v.shared.Core().V1()
		return errors.Join(
			attachments.hear(v.shared.Storage().V1().VolumeAttachments().Informer()), claims.hear(core.PersistentVolumeClaims().Informer()),
			volumes.hear(core.PersistentVolumes().Informer()), v.onChange(l.wake))
	}
	l.relist = func() error {
		if err := c.watch(ctx, subscribe); err != nil {
			return fmt.Errorf("watch cluster: %w", err)
		}
		for _, name := range l.names {
			l.wake(name) // nobody reports what is gone
		}
		return nil
	}
	if err := l.relist(); err != nil {
		return err
	}
	for _, q := range []*queue{attachments, claims, volumes} {
		l.wg.Go(func() { q.run(ctx, l.wg.Go) })
	}
	return nil
}

func (l *lab) wake(name string) {
	if n := l.nodes[name]; n != nil {
		n.wake()
	}
}

// build makes a machine, switched off.
func (l *lab) build(ctx context.Context, index int, port *port) (err error) {
	name := fmt.Sprintf("%s%d", l.config.NodePrefix, index)
	h := &hardware{
		name: name, uuid: uuid.New(), systemUUID: l.config.SystemUUIDs[name], boot: l.config.BootTime, dwell: l.config.LeasePeriod,
		ledger: l.ledger, ctx: ctx, wg: &l.wg,
		ready: func() bool { return l.cluster.ready(name) },
	}
	zone := fmt.Sprintf("zone-%d", index%l.config.Zones)
	h.start = func(k *kernel) {
		l.wg.Go(func() {
			if err := port.answer(k.ctx); err != nil && ctx.Err() == nil {
				slog.Error("kubelet's port failed", "node", name, "error", err)
			}
		})
		(&kubelet{machine: h, kernel: k, cluster: l.cluster, config: l.config, index: index, zone: zone, port: port}).run()
	}
	n := &node{hardware: h, username: fmt.Sprintf("operator-%d", index), password: rand.Text()[:16]}
	says := h.uuid
	if other := l.config.BMCUUIDs[name]; other != "" {
		if says, err = uuid.Parse(other); err != nil {
			return fmt.Errorf("build %s: parse UUID of BMC: %w", name, err)
		}
	}
	n.bmc, err = bmc.Listen(bmc.Config{Machine: h, UUID: says, Username: n.username, Password: n.password, Name: name, Journal: l.bmcs})
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	if l.config.Outlets {
		if err := n.plugIn(l.bmcs); err != nil {
			return err
		}
	}
	l.names = append(l.names, name)
	l.nodes[name] = n
	return nil
}

// firstBoot takes no time: nobody waits for machines that were always on.
func (h *hardware) firstBoot() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.power = true
	h.booted()
}

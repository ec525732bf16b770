package real

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/control"
	simulated "github.com/nodefence/nodefence/test/lab/machine"
	"github.com/nodefence/nodefence/test/lab/machine/bmc"
)

// WritersFile and BMCsFile are journals in the StateDir, as those of simulated machines.
const (
	WritersFile = simulated.WritersFile
	BMCsFile    = simulated.BMCsFile
)

// Config says which machines to run.
type Config struct {
	// Folder is the lab's; the Layout follows from it.
	Folder string
	// Keys is the folder with NODE.kubeconfig, NODE.crt, NODE.key, kube-proxy.kubeconfig and ca.crt.
	Keys         string
	Nodes, Zones int
	LeaseSeconds int
	StatusPeriod string
	// Programs is the executable with kubelet and kube-proxy, Agent the program of the images.
	Programs, Agent string
	// SystemUUIDs and BMCUUIDs are what the firmware and the BMCs of these nodes say in place of the machine's UUID.
	SystemUUIDs, BMCUUIDs map[string]string
	// StateDir is the folder for journals and disks, Socket the control socket.
	StateDir, Socket string
}

func (c Config) volumes() string { return filepath.Join(c.StateDir, "volumes") }
func (c Config) images() string  { return filepath.Join(c.StateDir, "images") }

// maxOrders bounds the orders of a BMC that wait.
const maxOrders = 64

// lab is all machines of a lab.
type lab struct {
	config   Config
	layout   Layout
	self     string
	now      func() time.Time
	machines []*machine
}

// Run runs the machines until ctx ends, with commands of BMCs dated by now. Clean removes the remains.
func Run(ctx context.Context, config Config, now func() time.Time) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	l := &lab{config: config, layout: NewLayout(config.Folder), self: self, now: now}
	journal, err := l.prepare()
	if err != nil {
		return err
	}
	defer journal.Close()
	for i := range config.Nodes {
		m, err := l.build(context.WithoutCancel(ctx), i, journal)
		if err != nil {
			return err
		}
		l.machines = append(l.machines, m)
	}
	// A running BMC calls on the socket.
	listener, err := control.Listen(config.Socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := l.startAll(); err != nil {
		return err
	}
	err = control.Serve(ctx, listener, l.handler())
	l.stopAll()
	_, unread := l.readVolumes()
	return errors.Join(err, unread)
}

// stopAll ends and reaps all child processes. Clean removes the remains of a failure.
func (l *lab) stopAll() {
	var wg sync.WaitGroup
	for _, m := range l.machines {
		wg.Go(func() {
			m.bmc.Close()
			m.bmc.stop()
			if err := m.do("power-loss"); err != nil {
				slog.Warn("machine does not end", "node", m.boot.Node, "error", err)
			}
		})
	}
	wg.Wait()
}

// startAll switches all machines on, at once, and starts their BMCs.
func (l *lab) startAll() error {
	errs := make([]error, len(l.machines))
	var wg sync.WaitGroup
	for i, m := range l.machines {
		wg.Go(func() { errs[i] = errors.Join(m.do("power-on"), m.bmc.group.create(), m.bmc.start(m.bmc.password)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// build makes a machine, switched off, and its BMC.
func (l *lab) build(ctx context.Context, index int, journal io.Writer) (*machine, error) {
	node := NodeName(index)
	own := uuid.New()
	firmware, err := uuidOr(own, l.config.SystemUUIDs[node])
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", node, err)
	}
	says, err := uuidOr(own, l.config.BMCUUIDs[node])
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", node, err)
	}
	g, err := newGroup(l.layout.ID, node)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(l.config.StateDir, node)
	m := &machine{boot: l.bootOf(node, index, folder, firmware), folder: folder, layout: l.layout, nodes: l.config.Nodes, group: g, self: l.self, ctx: ctx, orders: make(chan order, maxOrders)}
	go m.obey()
	controllers, err := newGroup(l.layout.ID, "bmc")
	if err != nil {
		return nil, err
	}
	m.bmc = &controller{
		node: node, folder: filepath.Join(folder, "bmc"), address: l.layout.BMC(index).String(), guid: says, layout: l.layout, group: controllers,
		username: fmt.Sprintf("operator-%d", index), password: rand.Text()[:16],
	}
	m.bmc.Panel = bmc.NewPanel(node, m.bmc.address+":"+bmcPort, m, journal, l.now)
	return m, m.bmc.install(l.self, l.config.Socket)
}

func (l *lab) bootOf(node string, index int, folder string, firmware uuid.UUID) Boot {
	key := func(file string) string { return filepath.Join(l.config.Keys, file) }
	return Boot{
		Self: l.self, Node: node, Index: index, Zone: fmt.Sprintf("zone-%d", index%l.config.Zones), UUID: firmware.String(),
		Group: filepath.Join(l.layout.ID, node), Netns: l.layout.machineNetns(node), Address: l.layout.Node(index),
		Folder: folder, Volumes: l.config.volumes(), Images: l.config.images(), Programs: l.config.Programs,
		Kubeconfig: key(node + ".kubeconfig"), ProxyKubeconfig: key("kube-proxy.kubeconfig"),
		ClientCA: key("ca.crt"), Cert: key(node + ".crt"), Key: key(node + ".key"),
		LeaseSeconds: l.config.LeaseSeconds, StatusPeriod: l.config.StatusPeriod,
	}
}

// uuidOr parses a UUID; an empty text stands for own.
func uuidOr(own uuid.UUID, text string) (uuid.UUID, error) {
	if text == "" {
		return own, nil
	}
	other, err := uuid.Parse(text)
	if err != nil {
		return own, fmt.Errorf("parse UUID %q: %w", text, err)
	}
	return other, nil
}

// prepare makes folders and images, and opens the journal of the BMCs.
func (l *lab) prepare() (*os.File, error) {
	if err := errors.Join(os.MkdirAll(l.config.volumes(), 0o755), os.MkdirAll(l.config.images(), 0o700)); err != nil {
		return nil, fmt.Errorf("make folders of machines: %w", err)
	}
	for _, i := range []image{
		{names: []string{PauseImage}, program: l.config.Agent, entrypoint: []string{"/agent", "pause"}},
		{names: []string{AgentImage}, program: l.config.Agent, entrypoint: []string{"/agent"}},
	} {
		if err := i.write(filepath.Join(l.config.images(), digestOf([]byte(i.names[0]))[:12]+".tar")); err != nil {
			return nil, err
		}
	}
	journal, err := os.OpenFile(filepath.Join(l.config.StateDir, BMCsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal of BMCs: %w", err)
	}
	return journal, nil
}

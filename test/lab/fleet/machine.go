package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/nodefence/nodefence/test/lab/fleet/bmc"
)

// boot is how long a machine takes from power-on to its kubelet.
const boot = time.Second

// machine is one simulated machine.
type machine struct {
	lab        *lab
	index      int
	name       string
	systemUUID string
	username   string
	password   string
	bmc        *bmc.BMC
	kick       chan struct{}

	mu          sync.Mutex
	powered     bool
	crashed     bool
	partitioned bool
	leaseOff    bool
	silent      bool // heartbeats held back by flap
	booting     bool
	bootID      string
	boots       int
	running     map[string]*container
	// life ends with the power or the kernel; net with the connection.
	life, net       context.Context
	endLife, endNet context.CancelFunc
}

// container is a pod that runs here, with the volumes that it writes to.
type container struct {
	key     string
	volumes []string
	writes  []int
}

func newMachine(l *lab, index int) (*machine, error) {
	m := &machine{
		lab: l, index: index, name: fmt.Sprintf("%s%d", l.cfg.NodePrefix, index), systemUUID: uuid(),
		username: fmt.Sprintf("fence%d", index), password: secret(), kick: make(chan struct{}, 1), running: map[string]*container{},
	}
	b, err := bmc.Start(bmc.Options{Machine: m, Username: m.username, Password: m.password, SystemUUID: m.systemUUID})
	if err != nil {
		return nil, fmt.Errorf("start BMC of %s: %w", m.name, err)
	}
	m.bmc = b
	m.PowerOn()
	return m, nil
}

// On is the power, as the BMC measures it.
func (m *machine) On() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.powered
}

// PowerOff cuts the power: whatever ran has stopped when it returns.
func (m *machine) PowerOff() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.powered, m.crashed, m.booting = false, false, false
	m.die()
}

// PowerOn boots the machine, if it is off.
func (m *machine) PowerOn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.powered {
		return
	}
	m.powered, m.crashed, m.booting, m.leaseOff, m.silent = true, false, true, false, false
	m.bootID = uuid()
	m.boots++
	m.life, m.endLife = context.WithCancel(m.lab.ctx)
	m.net, m.endNet = context.WithCancel(m.life)
	if m.partitioned {
		m.endNet()
	}
	life, first := m.life, m.boots == 1
	m.lab.wg.Go(func() { m.kubelet(life, first) })
}

// die ends all that runs. The lock is held.
func (m *machine) die() {
	if m.endLife != nil {
		m.endLife()
	}
	for uid, c := range m.running {
		m.stop(c)
		delete(m.running, uid)
	}
}

// stop ends a container's writers.
func (m *machine) stop(c *container) {
	for _, w := range c.writes {
		m.lab.writers.end(w)
	}
}

// state in one word.
func (m *machine) state() string {
	switch {
	case !m.powered:
		return "off"
	case m.crashed:
		return "crashed"
	case m.booting:
		return "booting"
	case m.partitioned:
		return "partitioned"
	case m.leaseOff:
		return "lease-stopped"
	}
	return "running"
}

// verbs are what can happen to a machine.
var verbs = map[string]func(*machine) error{
	"crash":        (*machine).crash,
	"power-loss":   func(m *machine) error { m.PowerOff(); return nil },
	"power-on":     func(m *machine) error { m.PowerOn(); return nil },
	"partition":    (*machine).partition,
	"heal":         (*machine).heal,
	"lease-stop":   func(m *machine) error { return m.setLease(true) },
	"lease-resume": func(m *machine) error { return m.setLease(false) },
	"flap":         (*machine).flap,
}

func (m *machine) crash() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.powered {
		return fmt.Errorf("crash %s: it is off", m.name)
	}
	m.crashed = true
	m.die()
	return nil
}

func (m *machine) partition() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.partitioned = true
	if m.endNet != nil {
		m.endNet()
	}
	return nil
}

func (m *machine) heal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.partitioned = false
	if m.powered && !m.crashed {
		m.net, m.endNet = context.WithCancel(m.life)
	}
	m.poke()
	return nil
}

func (m *machine) setLease(off bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaseOff = off
	m.poke()
	return nil
}

// flap holds the heartbeats back long enough for Ready=Unknown, three times.
func (m *machine) flap() error {
	m.lab.wg.Go(func() {
		for range 3 {
			m.hush(true)
			if !wait(m.lab.ctx, 12*m.lab.cfg.LeasePeriod) {
				return
			}
			m.hush(false)
			if !wait(m.lab.ctx, 4*m.lab.cfg.LeasePeriod) {
				return
			}
		}
	})
	return nil
}

func (m *machine) hush(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = on
	m.poke()
}

// poke has the kubelet look at once.
func (m *machine) poke() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// connection is a context that ends when the machine can't reach the API server
// any more; nil if it can't now.
func (m *machine) connection(life context.Context) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if life.Err() != nil || m.net == nil || m.net.Err() != nil || m.silent {
		return nil
	}
	return m.net
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails on the systems that Go supports
	return b
}

func uuid() string {
	b := random(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b)
	return s[0:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// secret fits into the 16 bytes that every IPMI implementation takes.
func secret() string { return hex.EncodeToString(random(8)) }

package machine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// The states of a machine.
const (
	stateOff          = "off"
	stateBooting      = "booting"
	stateRunning      = "running"
	stateCrashed      = "crashed"
	statePartitioned  = "partitioned"
	stateLeaseStopped = "lease-stopped"
)

// hardware is the machine itself, which the BMC and the verbs act on. Its
// methods are what bmc.Machine wants.
type hardware struct {
	name string
	uuid uuid.UUID
	// systemUUID is what the kubelet reports in place of uuid; uuid if it is empty.
	systemUUID string
	boot       time.Duration
	// dwell is the least time that a flapping network stays as it is.
	dwell  time.Duration
	ledger *writers.Ledger
	// start runs what a kernel runs, until the kernel's context ends.
	start func(*kernel)
	// ready tells whether the node is Ready in the cluster.
	ready func() bool
	// ctx is the whole lab's.
	ctx context.Context
	wg  *sync.WaitGroup

	mu      sync.Mutex
	power   bool
	crashed bool
	cut     bool
	noLease bool
	bootID  string
	// kernel is nil unless one runs.
	kernel *kernel
	// era counts the ends of kernels and boots: a boot of an earlier one is void.
	era  int
	flap *flapping
}

// snapshot is what can be seen of a machine at one moment.
type snapshot struct {
	power  bool
	state  string
	bootID string
}

func (h *hardware) look() snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return snapshot{power: h.power, state: h.state(), bootID: h.bootID}
}

func (h *hardware) state() string {
	switch {
	case !h.power:
		return stateOff
	case h.crashed:
		return stateCrashed
	case h.kernel == nil:
		return stateBooting
	case h.cut:
		return statePartitioned
	case h.noLease:
		return stateLeaseStopped
	}
	return stateRunning
}

// Power is whether the power is on.
func (h *hardware) Power() bool { return h.look().power }

// PowerOff cuts it; writing has ended when this returns.
func (h *hardware) PowerOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.die()
	h.power, h.crashed = false, false
}

// PowerOn boots a machine that is off.
func (h *hardware) PowerOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.power {
		return
	}
	h.power = true
	h.bootSoon()
}

// Reset reboots a machine that is on.
func (h *hardware) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.power {
		return
	}
	h.die()
	h.crashed = false
	h.bootSoon()
}

// ShutDown asks the kernel; without a kernel nothing happens.
func (h *hardware) ShutDown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kernel == nil {
		return
	}
	h.die()
	h.power = false
}

// die ends the kernel and all that it does, and a boot on its way.
func (h *hardware) die() {
	h.endFlap()
	h.era++
	// A fault of the kubelet's ends with it; the network is not the machine's.
	h.noLease = false
	if h.kernel != nil {
		h.kernel.die()
		h.kernel = nil
	}
}

func (h *hardware) bootSoon() {
	era := h.era
	time.AfterFunc(h.boot, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.era == era && h.ctx.Err() == nil {
			h.booted()
		}
	})
}

func (h *hardware) booted() {
	h.bootID = uuid.NewString()
	h.kernel = newKernel(h)
	k := h.kernel
	h.wg.Go(func() { h.start(k) })
}

// running returns the kernel or nil.
func (h *hardware) running() *kernel {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kernel
}

// wake makes the kubelet look at the cluster, if it can.
func (h *hardware) wake() {
	if k := h.running(); k != nil {
		k.wake()
	}
}

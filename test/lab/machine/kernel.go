package machine

import (
	"context"

	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// kernel lives from one boot to its crash or power cut. All fields but the
// first three are guarded by the machine's lock.
type kernel struct {
	machine *hardware
	ctx     context.Context
	woken   chan struct{}

	bootID  string
	end     context.CancelFunc
	network context.Context
	unplug  context.CancelFunc
	writers map[int]func()
	next    int
	dead    bool
}

// newKernel is called under the machine's lock.
func newKernel(h *hardware) *kernel {
	k := &kernel{machine: h, woken: make(chan struct{}, 1), bootID: h.bootID, writers: map[int]func(){}}
	k.ctx, k.end = context.WithCancel(h.ctx)
	k.plug()
	if h.cut {
		k.unplug()
	}
	return k
}

func (k *kernel) die() {
	k.dead = true
	for _, stop := range k.writers {
		stop()
	}
	k.writers = nil
	k.end()
}

func (k *kernel) plug() { k.network, k.unplug = context.WithCancel(k.ctx) }

// online returns a context for requests to the API server, which ends when the
// network does: what is under way then fails.
func (k *kernel) online() (context.Context, bool) {
	k.machine.mu.Lock()
	defer k.machine.mu.Unlock()
	return k.network, k.network.Err() == nil
}

// renews tells whether the kubelet renews its Lease.
func (k *kernel) renews() bool {
	k.machine.mu.Lock()
	defer k.machine.mu.Unlock()
	return !k.machine.noLease
}

// write starts a writer, unless the kernel is dead, and returns a function that stops it.
func (k *kernel) write(volume, pod string) (stop func(), ok bool) {
	h := k.machine
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.dead {
		return nil, false
	}
	id := k.next
	k.next++
	end := h.ledger.Start(volume, writers.Owner{Machine: h.uuid.String(), Node: h.name, Pod: pod})
	k.writers[id] = end
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(k.writers, id)
		end()
	}, true
}

func (k *kernel) wake() {
	select {
	case k.woken <- struct{}{}:
	default: // one look will see everything
	}
}

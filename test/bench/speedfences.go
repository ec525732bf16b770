package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

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
	// early: Ready=True was written before the Lease was renewed, and apart is how much earlier the
	// API server had it. ready is when it had both.
	early bool
	apart time.Duration
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
	m.written, m.conflicts, _ = m.ledger.take()
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
	f.early = len(m.done)/len(speedDevices)%2 == 1
	if f.ready, err = m.back(ctx, f); err != nil {
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

// leaseAfter is how long a Lease may be renewed after Ready=True was written. With its own request it
// has moved within leaseSoon.
const leaseAfter = leaseSoon - 15*time.Millisecond

// back has the node be healthy again: its Lease is renewed and then its Ready written, or a while
// after it, so that nobody may rely on which comes first.
func (m *speed) back(ctx context.Context, f *speedFence) (time.Time, error) {
	if !f.early {
		return markReady(ctx, m.Cluster, f.node)
	}
	at, err := writeReady(ctx, m.Cluster, f.node)
	if err != nil {
		return time.Time{}, err
	}
	if err := pause(ctx, rand.N(leaseAfter)); err != nil {
		return time.Time{}, err
	}
	err = renewLease(ctx, m.Cluster, f.node)
	both := time.Now()
	f.apart = both.Sub(at)
	return both, err
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

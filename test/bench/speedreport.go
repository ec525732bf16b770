package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

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
		fmt.Printf("%s: healthy → fence closed: %s; %s\n", device, quantiles(closed), roundTrips(closed, one))
		fmt.Printf("%s: the same where Ready=True came before the Lease: %s\n", device, quantiles(ofEarly(all, math.MaxInt64)))
		fmt.Printf("%s: closed in under %s: %s; where the Lease moved within %s after Ready=True: %s\n", device,
			closedSoon, under(closed, closedSoon), leaseSoon, under(ofEarly(all, leaseSoon), closedSoon))
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

// closedSoon is how soon after its node was healthy a fence should be closed, and leaseSoon how soon a
// Lease moves after Ready=True where nothing but nodefence could hold the fence.
const closedSoon, leaseSoon = 500 * time.Millisecond, 100 * time.Millisecond

// ofEarly is how long the fences took to close where Ready=True came before the Lease, and the Lease
// moved no later than that.
func ofEarly(all []speedFence, within time.Duration) (closed []time.Duration) {
	for _, f := range all {
		if f.early && f.apart <= within {
			closed = append(closed, f.closed.Sub(f.ready))
		}
	}
	return closed
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
	marks := []mark{{f.silent, "the API server has Ready=Unknown"}, {f.ready, "the API server has Ready=True and a moved Lease"}, {f.closed, "closed"}}
	for _, t := range f.told {
		marks = append(marks, mark{t.at, "the device is told " + t.text})
	}
	asking := busy(slices.DeleteFunc(m.calls.between(f.begun, f.off), ofBeside), f.silent, f.off)
	fmt.Printf("\n%s, the %s fence (%s), in ms since Ready=Unknown\n", f.device, which, f.node)
	fmt.Printf("until the Off %s ms, in %s of them a function waited for the API server\n", ms(f.off.Sub(f.silent)), ms(asking))
	return timeLine(f.silent, m.calls.between(f.begun, f.closed.Add(10*time.Millisecond)), marks)
}

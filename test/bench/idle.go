package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// idleSettings are what is measured.
type idleSettings struct {
	sizes []int
	// length is for how long it is measured, once all has settled.
	length time.Duration
	// lease is how often each node renews its Lease; 0 is what this machine can carry.
	lease time.Duration
	// checks is the interval in which each node's device is read; 0 is never.
	checks time.Duration
	// rest is what is waited for before it is measured, once all is watched; 0 is until each
	// device was read once.
	rest time.Duration
}

// idleOf reads the settings, and refuses them as a whole.
func idleOf(lookup func(string) (string, bool)) (s idleSettings, err error) {
	errs := make([]error, 5)
	s.sizes, errs[0] = numbers("IDLE", setTo(lookup, "IDLE", "20 500"), 1, 5000)
	s.length, errs[1] = long(lookup, "IDLE_FOR", time.Minute, 10*time.Second, 30*time.Minute)
	s.lease, errs[2] = leaseOf(lookup, "IDLE_LEASE")
	s.checks, errs[3] = long(lookup, "IDLE_CHECKS", 0, 0, 24*time.Hour)
	s.rest, errs[4] = long(lookup, "IDLE_REST", 0, 0, time.Hour)
	return s, errors.Join(errs...)
}

// restAt is how long is waited. Soon after the start each device is read once, 400 ms apart.
func (s idleSettings) restAt(nodes int) time.Duration {
	switch {
	case s.rest > 0:
		return s.rest
	case s.checks > 0:
		return 20*time.Second + time.Duration(nodes)*time.Second/2
	}
	return 20 * time.Second
}

// measureIdle measures what nodefence-local costs beside a cluster in which nothing happens.
func measureIdle(ctx context.Context) error {
	s, err := idleOf(os.LookupEnv)
	if err != nil {
		return err
	}
	var errs []error
	for _, nodes := range s.sizes {
		errs = append(errs, s.at(ctx, nodes))
	}
	return errors.Join(errs...)
}

func (s idleSettings) at(ctx context.Context, nodes int) (err error) {
	lease := leaseAt(s.lease, nodes)
	c, err := world(ctx, nodes, append(kubelets(lease, nodes), "--grace", max(50*time.Second, 5*lease).String())...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	machines, err := c.Lab.Machines()
	if err == nil {
		err = errors.Join(c.Bind(ctx, machines), c.Apply(ctx, rig.Policy("default", "precedence: 0")))
	}
	if err != nil {
		return err
	}
	calls := &trace{}
	watched, end, err := between(c.Cluster, calls, c.dir)
	if err != nil {
		return err
	}
	defer end()
	p, err := watched.StartProcess(ctx, c.dir, io.Discard, "--check-interval", s.checks.String())
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := settled(ctx, c.Cluster, nodes); err != nil {
		return err
	}
	if err := pause(ctx, s.restAt(nodes)); err != nil {
		return err
	}
	before, err := usage(p.PID())
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := pause(ctx, s.length); err != nil {
		return err
	}
	after, err := usage(p.PID())
	if err != nil {
		return err
	}
	took := time.Since(begun)
	fmt.Printf("\n%d nodes, Lease %s, devices read each %s: nothing happens for %s\n", nodes, lease, s.checks, took.Round(time.Second))
	fmt.Printf("nodefence-local: %.1f%% of one core, %d MB resident, at most %d MB since its start\n",
		100*(after.cpu-before.cpu).Seconds()/took.Seconds(), after.resident>>20, after.most>>20)
	return calls.print(begun, took)
}

// print is what was asked in a time, a minute, and which watches are open.
func (t *trace) print(from time.Time, took time.Duration) error {
	n := map[asked]int{}
	all, wrote := 0, 0
	for _, c := range t.between(from, from.Add(took)) {
		n[c.asked]++
		all++
		if slices.Index(verbs, c.verb) >= writes {
			wrote++
		}
	}
	minute := func(n int) string { return strconv.FormatFloat(float64(n)/took.Minutes(), 'f', 1, 64) }
	fmt.Printf("requests a minute: %s, of them writes: %s\n", minute(all), minute(wrote))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, a := range slices.SortedFunc(maps.Keys(n), func(a, b asked) int {
		return strings.Compare(a.function+a.resource+a.verb, b.function+b.resource+b.verb)
	}) {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", minute(n[a]), a.function, a.verb, a.resource)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var open []string
	sum := 0
	for _, resource := range slices.Sorted(maps.Keys(t.watches)) {
		if m := t.watches[resource]; m > 0 {
			open = append(open, fmt.Sprintf("%s %d", resource, m))
			sum += m
		}
	}
	fmt.Printf("watches open: %d (%s)\n", sum, strings.Join(open, ", "))
	return nil
}

// used is what a process has used.
type used struct {
	cpu            time.Duration
	resident, most int
}

// usage is what a process has used until now.
func usage(pid int) (used, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return used{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return used{}, err
	}
	return usedBy(string(stat), string(status))
}

// tick is the unit of /proc's times.
const tick = time.Second / 100

func usedBy(stat, status string) (u used, err error) {
	const user, system = 11, 12 // behind the name, which may have blanks
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) <= system {
		return used{}, fmt.Errorf("read the process's times: %q", stat)
	}
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return used{}, fmt.Errorf("read the process's times: %w", err)
		}
		u.cpu += time.Duration(n) * tick
	}
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		into := map[string]*int{"VmRSS": &u.resident, "VmHWM": &u.most}[name]
		if into == nil {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d kB", into); err != nil {
			return used{}, fmt.Errorf("read the process's memory: %q: %w", line, err)
		}
		*into <<= 10
	}
	if u.resident == 0 || u.most == 0 {
		return used{}, errors.New("read the process's memory: /proc does not say it")
	}
	return u, nil
}

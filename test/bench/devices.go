package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/test/rig"
)

// offs is how often each machine is switched off.
const offs = 20

// The two that are measured by turns.
const agent, own = "agent/fence_ipmilan", "ipmi/fence_ipmilan"

// offRead is what one driver took, by unit.
type offRead map[string]float64

// offReads are read from the output of the drivers' benchmarks.
type offReads struct {
	of      map[string]offRead
	skipped []string
	// why is the last thing that a benchmark said, which may be why it is skipped.
	why string
}

var (
	offReadLine = regexp.MustCompile(`^Benchmark\w*OffRead/(\S+?)(?:-\d+)?\s+\d+\t(.*)$`)
	reasonLine  = regexp.MustCompile(`_test\.go:\d+: (.*)$`)
)

func (o *offReads) line(l string) {
	if m := reasonLine.FindStringSubmatch(l); m != nil {
		o.why = m[1]
	}
	if name, ok := strings.CutPrefix(l, "--- SKIP: Benchmark"); ok {
		o.skipped = append(o.skipped, name+": "+o.why)
	}
	m := offReadLine.FindStringSubmatch(l)
	if m == nil {
		return
	}
	r, beside := offRead{}, offRead{}
	for f := range strings.SplitSeq(m[2], "\t") {
		value, unit, _ := strings.Cut(strings.TrimSpace(f), " ")
		n, err := strconv.ParseFloat(value, 64)
		if second, ok := strings.CutPrefix(unit, devicetest.Beside); ok && err == nil {
			beside[second] = n
		} else if err == nil {
			r[unit] = n
		}
	}
	o.of[m[1]] = r
	if len(beside) > 0 {
		o.of[own] = beside
	}
}

// measureDevices tells how long after the call of Off each driver has first read
// off, at the counterparts of its own tests.
func measureDevices(ctx context.Context) error {
	root, err := rig.Root()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "switching off at the drivers' counterparts, for two minutes or so")
	cmd := exec.CommandContext(ctx, "go", "test", "./shared/device/...", "-run", "^$", "-bench", "OffRead$",
		"-benchtime", fmt.Sprintf("%dx", offs), "-p", "1", "-v", "-timeout", "20m")
	cmd.Dir = root
	all := &offReads{of: map[string]offRead{}}
	err = pass(cmd, all.line)
	if len(all.of) > 0 {
		err = errors.Join(err, all.print())
	} else if err == nil {
		err = errors.New("no benchmark said anything")
	}
	if err != nil {
		return fmt.Errorf("shared/device: %w", err)
	}
	return nil
}

// print is a table, in the order of MATRIX.md.
func (o *offReads) print() error {
	fmt.Printf("%d offs each: from the call to the end of the first read of off\n", offs)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "driver\tp50\tp95\treads\tcounterpart\twritten by")
	for _, key := range slices.Sorted(maps.Keys(o.of)) {
		c, ok := devicetest.Counterparts[key]
		if !ok {
			c = devicetest.Measured[key]
		}
		name, by, r := c.Driver, c.By, o.of[key]
		if c.Mode != "" {
			name += ", " + c.Mode
		}
		if by == "" {
			by = "us"
		}
		fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\t%.1f\t%s\t%s\n", plain(name), r[devicetest.P50], r[devicetest.P95], r[devicetest.Reads], plain(c.Is), by)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, why := range o.skipped {
		fmt.Println("skipped:", why)
	}
	if a, b := o.of[agent][devicetest.P50], o.of[own][devicetest.P50]; a > 0 && b > 0 {
		fmt.Printf("at one BMC by turns, p50: fence_ipmilan %.1f ms, the ipmi driver %.1f ms, a ratio of %.0f\n", a, b, a/b)
	}
	return nil
}

// plain is without the marks that MATRIX.md has.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

package devicetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// Measured are counterparts besides those of the suite: they can't misbehave, or consist of
// some that can.
var Measured = map[string]Counterpart{
	"agent/fence_ipmilan":  {Driver: "agent", Mode: "`fence_ipmilan`", Is: "OpenIPMI's `ipmi_sim`", By: "others"},
	"ipmi/fence_ipmilan":   {Driver: "ipmi", Mode: "at the BMC of `fence_ipmilan`", Is: "OpenIPMI's `ipmi_sim`", By: "others"},
	"agent/fence_apc_snmp": {Driver: "agent", Mode: "`fence_apc_snmp`", Is: "net-snmp's `snmpd`, with outlets of our own", By: "others"},
	"set":                  {Driver: "set", Mode: "of two", Is: "two machines in memory"},
}

// The units that OffRead reports, and no others: ns/op also contains what comes before and
// after an off and its read.
const (
	P50   = "ms/off-read-p50"
	P95   = "ms/off-read-p95"
	Reads = "reads/off"
	// Beside is the prefix of the second machine's units.
	Beside = "beside-"
)

// OffRead measures the time from the call of Off to the end of the first read of off, and
// how many reads that took. The machine is on before, and is switched on after. The driver
// is the harness's, opened once; it keeps nothing from one call to the next, so that each
// call logs in again. Against names one of Counterparts or of Measured. No time is too
// long: the speed of this machine proves nothing.
func OffRead(b *testing.B, against string, h Harness) {
	b.Run(against, func(b *testing.B) {
		m := measure(b, against, h)
		for b.Loop() {
			m.round(b)
		}
		m.report(b, "")
		b.ReportMetric(0, "ns/op") // none of it
	})
}

// OffReadBeside measures a second device by turns with the first, off by off. Other load on
// this machine then affects both, and their ratio is more reliable than that of two runs.
func OffReadBeside(b *testing.B, against string, h Harness, second string, g Harness) {
	b.Run(against, func(b *testing.B) {
		m, n := measure(b, against, h), measure(b, second, g)
		for b.Loop() {
			m.round(b)
			n.round(b)
		}
		m.report(b, "")
		n.report(b, Beside)
		b.ReportMetric(0, "ns/op")
	})
}

// measured is how long a machine's offs have taken so far.
type measured struct {
	Machine
	h     Harness
	ms    []float64
	reads int
}

func measure(b *testing.B, against string, h Harness) *measured {
	b.Helper()
	_, played := Counterparts[against]
	if _, ok := Measured[against]; ok == played || (h.Against != "" && h.Against != against) {
		b.Fatalf("there is no counterpart %q, or the harness is against %q", against, h.Against)
	}
	return &measured{Machine: h.New(b, None), h: h}
}

// round is an off, and then the machine is on again.
func (m *measured) round(b *testing.B) {
	b.Helper()
	d, n := offRead(b, m.Machine)
	m.ms, m.reads = append(m.ms, float64(d.Microseconds())/1000), m.reads+n
	if m.h.NoOn {
		m.Machine = m.h.New(b, None)
		return
	}
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if err := m.Driver.On(ctx); err != nil {
		b.Fatal(err)
	}
	until(b, m.Machine, device.On)
}

func (m *measured) report(b *testing.B, before string) {
	slices.Sort(m.ms)
	b.ReportMetric(m.ms[len(m.ms)/2], before+P50)
	b.ReportMetric(m.ms[len(m.ms)*95/100], before+P95)
	b.ReportMetric(float64(m.reads)/float64(len(m.ms)), before+Reads)
}

func offRead(b *testing.B, m Machine) (time.Duration, int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	began := time.Now()
	if err := m.Driver.Off(ctx); err != nil {
		b.Fatal(err)
	}
	n := until(b, m, device.Off)
	took := time.Since(began)
	if m.On() {
		b.Fatal("it reads off, and the machine runs")
	}
	return took, n
}

// until reads without a pause until the power is as wanted, and returns the number of
// reads.
func until(b *testing.B, m Machine, want device.Power) int {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for n := 1; ; n++ {
		r, err := m.Driver.State(ctx)
		if err == nil && r.Power == want {
			return n
		}
		if (err != nil && !errors.Is(err, device.ErrStopping)) || ctx.Err() != nil {
			b.Fatalf("read %d is %q and %v, want %q", n, r.Power, err, want)
		}
	}
}

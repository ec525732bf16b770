package devicetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// Measured are counterparts besides those of the suite: they can't misbehave, or
// are made of some that can.
var Measured = map[string]Counterpart{
	"agent/fence_ipmilan":  {Driver: "agent", Mode: "`fence_ipmilan`", Is: "OpenIPMI's `ipmi_sim`", By: "others"},
	"ipmi/fence_ipmilan":   {Driver: "ipmi", Mode: "at the BMC of `fence_ipmilan`", Is: "OpenIPMI's `ipmi_sim`", By: "others"},
	"agent/fence_apc_snmp": {Driver: "agent", Mode: "`fence_apc_snmp`", Is: "net-snmp's `snmpd`, with outlets of our own", By: "others"},
	"set":                  {Driver: "set", Mode: "of two", Is: "two machines in memory"},
}

// The units that OffRead reports, besides which there is none: what comes before
// and after an off and the read of it is in ns/op too.
const (
	P50   = "ms/off-read-p50"
	P95   = "ms/off-read-p95"
	Reads = "reads/off"
)

// OffRead measures the time from the call of Off to the end of the first read of
// off, and how many reads that took. The machine is on before, and is switched on
// after. The driver is the harness's, opened once; it keeps nothing from one call
// to the next, so that each logs in anew. Against names one of Counterparts or of
// Measured. No time is too long: how fast this machine is proves nothing.
func OffRead(b *testing.B, against string, h Harness) {
	b.Run(against, func(b *testing.B) {
		_, played := Counterparts[against]
		if _, ok := Measured[against]; ok == played || (h.Against != "" && h.Against != against) {
			b.Fatalf("there is no counterpart %q, or the harness is against %q", against, h.Against)
		}
		m := h.New(b, None)
		var took []float64
		reads := 0
		for b.Loop() {
			d, n := offRead(b, m)
			took, reads = append(took, float64(d.Microseconds())/1000), reads+n
			if h.NoOn {
				m = h.New(b, None)
				continue
			}
			if err := m.Driver.On(b.Context()); err != nil {
				b.Fatal(err)
			}
			until(b, m, device.On)
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], P50)
		b.ReportMetric(took[len(took)*95/100], P95)
		b.ReportMetric(float64(reads)/float64(len(took)), Reads)
		b.ReportMetric(0, "ns/op") // none of it
	})
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

// until reads without a pause until it is so, and says how often.
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

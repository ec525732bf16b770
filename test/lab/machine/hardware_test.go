package machine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/nodefence/nodefence/test/lab/await"
	"github.com/nodefence/nodefence/test/lab/machine/writers"
)

// rig is a machine whose kernel writes to a volume and does nothing else.
type rig struct {
	*hardware
	ready atomic.Bool
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{}
	wg := &sync.WaitGroup{}
	r.hardware = &hardware{
		name: "node-0", uuid: uuid.New(), boot: time.Millisecond, dwell: time.Millisecond, ctx: ctx, wg: wg,
		ledger: writers.New(&bytes.Buffer{}, time.Now),
		ready:  r.ready.Load,
		start: func(k *kernel) {
			k.write("v", "default/db-0")
			<-k.ctx.Done()
		},
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	r.PowerOn()
	r.await(t, stateRunning)
	return r
}

func (r *rig) await(t *testing.T, state string) {
	t.Helper()
	await.That(t, "state "+state, func() bool { return r.look().state == state })
}

// act is a verb, or a command of the BMC's.
func (r *rig) act(t *testing.T, what string) {
	t.Helper()
	commands := map[string]func(){"OFF": r.PowerOff, "ON": r.PowerOn, "RESET": r.Reset, "SOFT": r.ShutDown}
	if do, ok := commands[what]; ok {
		do()
	} else if err := r.do(what); err != nil {
		t.Fatal(err)
	}
}

func TestStates(t *testing.T) {
	for name, tc := range map[string]struct {
		acts string
		want string
		// reboots tells whether the machine runs with another boot ID.
		reboots bool
	}{
		"a crash leaves the power on":              {acts: "crash", want: stateCrashed},
		"a crashed machine is cut off and returns": {acts: "crash OFF ON", want: stateRunning, reboots: true},
		"a crashed machine is reset":               {acts: "crash RESET", want: stateRunning, reboots: true},
		"a crashed machine hears no soft shutdown": {acts: "crash SOFT", want: stateCrashed},
		"on for a crashed machine changes nothing": {acts: "crash ON", want: stateCrashed},
		"a running machine shuts down softly":      {acts: "SOFT", want: stateOff},
		"on is on":                                 {acts: "ON", want: stateRunning},
		"off is off":                               {acts: "OFF OFF", want: stateOff},
		"reset of a machine that is off":           {acts: "OFF RESET", want: stateOff},
		"power is lost":                            {acts: "power-loss", want: stateOff},
		"power is lost and returns":                {acts: "power-loss power-on", want: stateRunning, reboots: true},
		"partition and heal":                       {acts: "partition heal", want: stateRunning},
		"a boot doesn't mend the network":          {acts: "partition OFF ON", want: statePartitioned, reboots: true},
		"the network is mended while it is off":    {acts: "partition OFF heal ON", want: stateRunning, reboots: true},
		"off is what counts of a partitioned one":  {acts: "partition OFF", want: stateOff},
		"the lease stops":                          {acts: "lease-stop", want: stateLeaseStopped},
		"the lease goes on":                        {acts: "lease-stop lease-resume", want: stateRunning},
		"a boot mends the lease":                   {acts: "lease-stop OFF ON", want: stateRunning, reboots: true},
		"a partition counts more than the lease":   {acts: "lease-stop partition", want: statePartitioned},
		"off right after on":                       {acts: "OFF ON OFF", want: stateOff},
		"a verb ends a flap":                       {acts: "flap lease-stop", want: stateLeaseStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ready.Store(true)
			before := r.look().bootID
			for what := range strings.FieldsSeq(tc.acts) {
				r.act(t, what)
			}
			r.await(t, tc.want)
			if got := r.look().bootID != before; got != tc.reboots {
				t.Errorf("boot ID changed: %v", got)
			}
		})
	}
}

func TestVerbsThatMakeNoSense(t *testing.T) {
	for name, tc := range map[string]struct {
		acts string
		verb string
		want error
	}{
		"crash of a machine that is off":     {acts: "OFF", verb: "crash", want: errState},
		"crash of a crashed machine":         {acts: "crash", verb: "crash", want: errState},
		"no lease to stop":                   {acts: "crash", verb: "lease-stop", want: errState},
		"no network to come and go":          {acts: "partition", verb: "flap", want: errState},
		"a verb that isn't one":              {verb: "explode", want: errVerb},
		"a verb that is one of the BMC only": {verb: "PowerOff", want: errVerb},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for what := range strings.FieldsSeq(tc.acts) {
				r.act(t, what)
			}
			if err := r.do(tc.verb); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestWritingEndsWithTheKernelOnly(t *testing.T) {
	for act, ends := range map[string]bool{
		"crash": true, "power-loss": true, "OFF": true, "RESET": true, "SOFT": true,
		"partition": false, "lease-stop": false, "flap": false,
	} {
		t.Run(act, func(t *testing.T) {
			r := newRig(t)
			await.That(t, "writer", func() bool { return len(r.ledger.Records()) == 1 })
			r.act(t, act)
			// At once, not a moment later: the caller of Off is told that it is done.
			if got := r.ledger.Records()[0].To != nil; got != ends {
				t.Errorf("writing ended: %v", got)
			}
		})
	}
}

func TestADeadKernelStartsNoWriter(t *testing.T) {
	r := newRig(t)
	k := r.running()
	r.PowerOff()
	if _, ok := k.write("w", "default/late"); ok {
		t.Error("a dead kernel writes")
	}
}

func TestRequestsFailInAPartition(t *testing.T) {
	r := newRig(t)
	before, ok := r.running().online()
	if !ok {
		t.Fatal("offline at first")
	}
	r.act(t, "partition")
	if _, ok := r.running().online(); ok || before.Err() == nil {
		t.Errorf("online: %v, earlier requests: %v", ok, before.Err())
	}
	r.act(t, "heal")
	if _, ok := r.running().online(); !ok {
		t.Error("offline after the partition")
	}
}

func TestFlapFollowsTheCluster(t *testing.T) {
	r := newRig(t)
	r.ready.Store(true)
	r.act(t, "flap")
	for range flaps {
		r.await(t, statePartitioned)
		r.ready.Store(false)
		r.await(t, stateRunning)
		r.ready.Store(true)
	}
	await.That(t, "end", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.flap == nil })
	if got := r.look().state; got != stateRunning {
		t.Errorf("state %s after flapping", got)
	}
	if diff := cmp.Diff(1, len(r.ledger.Records())); diff != "" {
		t.Errorf("writers (-want +got):\n%s", diff)
	}
}

func TestAMachineIsDarkWithoutBothOutlets(t *testing.T) {
	r := newRig(t)
	dark := false
	s := &supply{machine: r.hardware, bmc: func(d bool) { dark = d }, on: map[string]bool{"a": true, "b": true}}
	a, b := &outlet{s, "a"}, &outlet{s, "b"}
	a.PowerOff()
	if a.Power() || !b.Power() || !r.Power() || dark {
		t.Errorf("with one outlet: a %v, b %v, machine %v, dark %v", a.Power(), b.Power(), r.Power(), dark)
	}
	b.PowerOff()
	if b.Power() || r.Power() || !dark {
		t.Errorf("without outlets: b %v, machine %v, dark %v", b.Power(), r.Power(), dark)
	}
	b.PowerOn()
	r.await(t, stateRunning)
	if dark {
		t.Error("its BMC is silent still")
	}
}

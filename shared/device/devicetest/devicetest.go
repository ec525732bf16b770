package devicetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// The faults that a harness may be asked for.
const (
	None            = "none"
	Hang            = "hang"
	Refuse          = "refuse"
	ConflictWhenOff = "conflict-when-off"
	AcceptAndIgnore = "accept-and-ignore"
	WrongPassword   = "wrong-password"
	Unreachable     = "unreachable"
	// ResetConnection carries the command out and loses the answer.
	ResetConnection = "reset-connection"
	// Mute lets the caller in, but neither tells the power nor switches it.
	Mute = "mute"
	// Slow accepts an off and completes it at Settle; its answers are true.
	Slow = "slow"
	// Early is like Slow, but says at once that it is off.
	Early = "early"
	// Lie says that the power is off and leaves it on.
	Lie = "lie"
	// Other answers for another machine.
	Other = "other"
	// Stopping: somebody else is switching the machine off, until Settle.
	Stopping = "stopping"
	// Forged sends answers in the device's name, besides the device's own, as anybody on
	// the network could.
	Forged = "forged"
	// Downgrade offers less protection than was asked for.
	Downgrade = "downgrade"
	// Nameless does not tell the identity that it has.
	Nameless = "nameless"
	// Short first sends answers of every length up to the whole, and garbage, and then the
	// right answer.
	Short = "short"
)

// Machine is one machine with a device, as it really is.
type Machine struct {
	Driver device.Driver
	// On is the truth about the power.
	On func() bool
	// Commands are the commands that the device accepted, in order: off, on, cycle, reset.
	Commands func() []string
	// SetFault makes the device misbehave from now on, or behave again.
	SetFault func(fault string)
	// Settle completes what a slow or early device still has to do.
	Settle func()
}

// Harness makes machines for a driver.
type Harness struct {
	// New makes a machine that is on, with a fault. It ends with t.
	New func(t testing.TB, fault string) Machine
	// Against names one of Counterparts, whose faults New can make.
	Against string
	// Faults are further faults that New can make, if Against is empty.
	Faults []string
	// Secrets are texts that no error may show.
	Secrets []string
	// Identity is what its machines call themselves; empty if they can't tell.
	Identity string
	// NoOn is for drivers that refuse On for good (device.Kind has the reason).
	NoOn bool
}

const (
	// brief is shorter than every driver's own limit.
	brief = 200 * time.Millisecond
	// patience is how long the suite waits for an expected result. It ends a failing run
	// and has no part in a passing one.
	patience = 20 * time.Second
)

// Run checks a driver against the contract of package device.
func Run(t *testing.T, h Harness) {
	if h.Against != "" {
		c, ok := Counterparts[h.Against]
		if !ok || h.Faults != nil {
			t.Fatalf("there is no counterpart %q, or it has other faults", h.Against)
		}
		h.Faults = c.Faults
	}
	for _, c := range checks {
		t.Run(c.sentence, func(t *testing.T) {
			if c.fault != None && !slices.Contains(h.Faults, c.fault) {
				t.Skipf("the harness has no fault %q", c.fault)
			}
			c.run(newBench(t, h, c.fault))
		})
	}
}

// bench is one machine under test. Its calls check every answer for what must always be
// true, whatever the device does.
type bench struct {
	*testing.T
	Machine
	h Harness
}

func newBench(t *testing.T, h Harness, fault string) *bench {
	b := &bench{T: t, Machine: h.New(t, fault), h: h}
	if !b.Machine.On() {
		t.Fatal("the harness gave a machine that is off")
	}
	t.Cleanup(func() {
		for _, word := range b.Commands() {
			if word != "off" && word != "on" {
				t.Errorf("the device was told %q", word)
			}
		}
	})
	return b
}

func (b *bench) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.Context(), d)
}

func (b *bench) state(ctx context.Context) (device.Reading, error) {
	b.Helper()
	r, err := b.Driver.State(ctx)
	b.hold(err)
	switch {
	case err != nil && r != (device.Reading{}):
		b.Errorf("an error came with the reading %+v: %v", r, err)
	case err == nil && r.Power != device.On && r.Power != device.Off:
		b.Errorf("no error, and the power is %q", r.Power)
	}
	return r, err
}

func (b *bench) off(ctx context.Context) error {
	b.Helper()
	return b.once("off", func() error { return b.Driver.Off(ctx) })
}

func (b *bench) on(ctx context.Context) error {
	b.Helper()
	return b.once("on", func() error { return b.Driver.On(ctx) })
}

// once checks that a call gives its command at most once: a repeated command that is still
// on its way when somebody switches the machine on would switch it off again.
func (b *bench) once(word string, do func() error) error {
	b.Helper()
	before := b.count(word)
	err := do()
	b.hold(err)
	if n := b.count(word) - before; n > 1 {
		b.Errorf("one call sent %q %d times", word, n)
	}
	return err
}

func (b *bench) count(word string) int {
	n := 0
	for _, w := range b.Commands() {
		if w == word {
			n++
		}
	}
	return n
}

// hold checks what every error must be: of one kind, one line, and without secrets.
func (b *bench) hold(err error) {
	b.Helper()
	if err == nil {
		return
	}
	if kinds := kindsOf(err); len(kinds) != 1 {
		b.Errorf("the error is of %d kinds %q: %v", len(kinds), kinds, err)
	}
	text := err.Error()
	if text == "" || strings.ContainsAny(text, "\r\n\v\f\u0085\u2028\u2029") {
		b.Errorf("the error is not one line: %q", text)
	}
	for _, s := range b.h.Secrets {
		if strings.Contains(text, s) {
			b.Errorf("the error shows the secret %q: %s", s, text)
		}
	}
}

func kindsOf(err error) []error {
	var kinds []error
	for _, k := range []error{
		device.ErrUnreachable, device.ErrDenied, device.ErrUnsupported, device.ErrConflict, device.ErrUnknown, device.ErrStopping,
		device.ErrInvalid,
	} {
		if errors.Is(err, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// says is a state read that must succeed with this result.
func (b *bench) says(want device.Power) {
	b.Helper()
	ctx, cancel := b.within(patience)
	defer cancel()
	if r, err := b.state(ctx); err != nil || r.Power != want {
		b.Errorf("state is %q and %v, want %q", r.Power, err, want)
	}
}

// notYetOff is a state read of a machine that still runs, after an off that may be under
// way.
func (b *bench) notYetOff() {
	b.Helper()
	if r, err := b.state(b.Context()); r.Power != device.On && !errors.Is(err, device.ErrStopping) {
		b.Errorf("state is %q and %v, want %q or %v", r.Power, err, device.On, device.ErrStopping)
	}
}

// really checks the machine's true state.
func (b *bench) really(on bool) {
	b.Helper()
	if b.Machine.On() != on {
		b.Errorf("the machine's power is really on: %v, want %v", !on, on)
	}
}

// truth is what the driver must read now.
func (b *bench) truth() device.Power {
	if b.Machine.On() {
		return device.On
	}
	return device.Off
}

// calls are all three calls, for what is true of each; without On if the driver always
// refuses it.
func (b *bench) calls() map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{
		"state": func(ctx context.Context) error { _, err := b.state(ctx); return err },
		"off":   b.off,
		"on":    b.on,
	}
	if b.h.NoOn {
		delete(all, "on")
	}
	return all
}

// back is an On that must succeed, or one that must be refused and change nothing.
func (b *bench) back(was bool) {
	b.Helper()
	if !b.h.NoOn {
		must(b, b.on)
		b.really(true)
		b.says(device.On)
		return
	}
	ctx, cancel := b.within(patience)
	defer cancel()
	if err := b.on(ctx); !errors.Is(err, device.ErrUnsupported) {
		b.Errorf("on gives %v, want %v", err, device.ErrUnsupported)
	}
	b.really(was)
}

// each expects this kind of error from all three calls.
func (b *bench) each(limit time.Duration, want error) {
	b.Helper()
	for name, call := range b.calls() {
		ctx, cancel := b.within(limit)
		if err := call(ctx); !errors.Is(err, want) {
			b.Errorf("%s gives %v, want %v", name, err, want)
		}
		cancel()
	}
}

// returnsTo waits until no more goroutines run than before.
func (b *bench) returnsTo(before int) {
	b.Helper()
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			b.Fatalf("%d goroutines ran before, %d do now:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

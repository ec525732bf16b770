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
	// ResetConnection has the effect and loses the answer.
	ResetConnection = "reset-connection"
	// Mute lets the caller in, and then neither tells the power nor switches it.
	Mute = "mute"
	// Slow accepts an off and has it done by Settle; it says what is.
	Slow = "slow"
	// Early is slow and says that it is done at once.
	Early = "early"
	// Lie says that the power is off and leaves it on.
	Lie = "lie"
	// Other answers for another machine.
	Other = "other"
	// Stopping is that somebody else is switching the machine off, until Settle.
	Stopping = "stopping"
	// Forged answers in the device's name, beside it, as anybody on the network could.
	Forged = "forged"
	// Downgrade offers less protection than was asked for.
	Downgrade = "downgrade"
	// Nameless fails to tell the identity that it has.
	Nameless = "nameless"
	// Short answers in every length up to the whole, and with garbage, and then well.
	Short = "short"
)

// Machine is one with a device, as it really is.
type Machine struct {
	Driver device.Driver
	// On is the truth about the power.
	On func() bool
	// Commands are the words that the device accepted, in order: off, on, cycle, reset.
	Commands func() []string
	// SetFault makes the device misbehave from now on, or behave again.
	SetFault func(fault string)
	// Settle lets happen what a slow or early device still has to do.
	Settle func()
}

// Harness makes machines for a driver.
type Harness struct {
	// New gives a machine that is on, of its own, with a fault. It ends with t.
	New func(t testing.TB, fault string) Machine
	// Against names one of Counterparts, whose faults are those that New can make.
	Against string
	// Faults are those besides none that it can make, if it is Against none.
	Faults []string
	// Secrets are what no error may show.
	Secrets []string
	// Identity is what its machines call themselves, or empty if they can't say.
	Identity string
	// NoOn is for drivers that refuse On, for ever (device.Kind has the reason).
	NoOn bool
}

const (
	// brief is a caller's time that no driver's own limit comes before.
	brief = 200 * time.Millisecond
	// patience is how long the suite waits for what has to come. It ends a
	// failing run and has no part in a passing one.
	patience = 20 * time.Second
)

// Run holds a driver to the contract of package device.
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

// bench is one machine under test. Its calls hold every answer to what is true
// of all of them, whatever the device does.
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

// once sees that a call gives its command at most once: a second one that was
// on its way when somebody switched the machine on would fell it again.
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

// hold is what every error must be: of one kind, one line, and without secrets.
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

// says is a state read that has to work and to tell this.
func (b *bench) says(want device.Power) {
	b.Helper()
	ctx, cancel := b.within(patience)
	defer cancel()
	if r, err := b.state(ctx); err != nil || r.Power != want {
		b.Errorf("state is %q and %v, want %q", r.Power, err, want)
	}
}

// notYetOff is a state read of a machine that runs, after an off that may be
// under way.
func (b *bench) notYetOff() {
	b.Helper()
	if r, err := b.state(b.Context()); r.Power != device.On && !errors.Is(err, device.ErrStopping) {
		b.Errorf("state is %q and %v, want %q or %v", r.Power, err, device.On, device.ErrStopping)
	}
}

// really is what the machine itself has to be.
func (b *bench) really(on bool) {
	b.Helper()
	if b.Machine.On() != on {
		b.Errorf("the machine's power is really on: %v, want %v", !on, on)
	}
}

// truth is what the driver has to say now.
func (b *bench) truth() device.Power {
	if b.Machine.On() {
		return device.On
	}
	return device.Off
}

// calls are all three, for what is true of each. An On that is refused whatever the
// device does is none of them.
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

// back is an On that has to work, or one that has to be refused and to change nothing.
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

// each wants this kind of error from all three.
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

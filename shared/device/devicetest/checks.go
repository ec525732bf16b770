package devicetest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

var checks = []struct {
	sentence, fault string
	run             func(*bench)
}{
	{"a state read tells on and off", None, tellsOnAndOff},
	{"off cuts the power and on switches it on", None, switches},
	{"off when off and on when on are no errors", None, twice},
	{"a state read switches nothing", None, readsOnly},
	{"the machine's identity is its own", None, identity},
	{"a call whose time is over sends nothing", None, tooLate},
	{"an off or on whose claim has run out is not sent", None, overdue},
	{"a driver leaves nothing running", None, leavesNothing},
	{"a device that hangs costs the caller's time and no more", Hang, hangs},
	{"a device that hangs leaves nothing running", Hang, leavesNothing},
	{"a device that has hung tells the truth again", Hang, recovers},
	{"a device that refuses is no success", Refuse, refuses},
	{"off is no error on a device that refuses it when off", ConflictWhenOff, twice},
	{"an off that the device ignores is not believed", AcceptAndIgnore, ignored},
	{"a wrong password is denied access", WrongPassword, denied},
	{"a wrong password leaves nothing running", WrongPassword, leavesNothing},
	{"a device that isn't there is unreachable", Unreachable, unreachable},
	{"a device that isn't there leaves nothing running", Unreachable, leavesNothing},
	{"after a lost answer the next state read tells the truth", ResetConnection, lostAnswer},
	{"a device that does not say is not off, nor was it switched", Mute, mute},
	{"a slow off is seen when it is so", Slow, slow},
	{"an off that is told too soon is sent once all the same", Early, early},
	{"a lie is not remembered when it ends", Lie, lie},
	{"another machine's identity is told as it is", Other, other},
	{"a machine that another hand is switching off is neither on nor off", Stopping, stopping},
	{"a forged answer is not believed", Forged, wholly},
	{"a forged answer leaves nothing running", Forged, leavesNothing},
	{"less protection than was asked for is no answer", Downgrade, invalid},
	{"a device that fails to tell its identity has not answered", Nameless, unnamed},
	{"an answer that is cut short, and garbage, are no answers", Short, wholly},
}

func tellsOnAndOff(b *bench) {
	b.says(device.On)
	must(b, b.off)
	b.says(device.Off)
	b.back(false)
}

func switches(b *bench) {
	must(b, b.off)
	b.really(false)
	b.back(false)
}

func twice(b *bench) {
	b.back(true)
	must(b, b.off)
	must(b, b.off)
	b.really(false)
	b.says(device.Off)
	b.back(false)
	b.back(false)
}

func readsOnly(b *bench) {
	b.says(device.On)
	b.says(device.On)
	if got := b.Commands(); len(got) > 0 {
		b.Errorf("state reads sent %q", got)
	}
}

func identity(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	r, err := b.state(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if b.h.Identity != r.Identity && !device.SameIdentity(b.h.Identity, r.Identity) {
		b.Errorf("the identity is %q, want %q", r.Identity, b.h.Identity)
	}
}

// overdue: while this machine was suspended the claim's time went by, and none of the context's
// (S8: the time of the claim is checked right before the call).
func overdue(b *bench) {
	late := device.Timely(b.Context(), func() time.Duration { return 0 })
	if err := b.off(late); err == nil {
		b.Error("no error of an off that was late")
	}
	b.really(true)
	if got := b.Commands(); len(got) > 0 {
		b.Errorf("sent late: %q", got)
	}
	must(b, b.off)
	before := len(b.Commands())
	if err := b.on(late); err == nil {
		b.Error("no error of an on that was late")
	}
	b.really(false)
	if got := b.Commands(); len(got) > before {
		b.Errorf("sent late: %q", got[before:])
	}
}

func tooLate(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	for name, call := range b.calls() {
		if err := call(ctx); err == nil {
			b.Errorf("%s has no error", name)
		}
	}
	if got := b.Commands(); len(got) > 0 {
		b.Errorf("the device was told %q", got)
	}
	b.really(true)
}

// leavesNothing makes several calls, so that a leak makes the count grow even if a part of
// the harness was just ending when the first count was taken.
func leavesNothing(b *bench) {
	round := func() {
		for _, call := range b.calls() {
			ctx, cancel := b.within(brief)
			_ = call(ctx) // another check tests the result
			cancel()
		}
	}
	round()
	before := runtime.NumGoroutine()
	for range 3 {
		round()
	}
	b.returnsTo(before)
}

// hangs compares a long call with short ones: some short calls, one after the other, must
// return while the long one still waits. Otherwise the driver's own limit ended them, and
// not the caller's.
func hangs(b *bench) {
	for name, call := range b.calls() {
		other := newBench(b.T, b.h, Hang)
		long, end := context.WithCancel(b.Context())
		waits := make(chan error, 1)
		go func() { waits <- other.calls()[name](long) }()
		for range 3 {
			short, cancel := b.within(brief)
			if err := call(short); !errors.Is(err, device.ErrUnreachable) {
				b.Errorf("%s gives %v, want %v", name, err, device.ErrUnreachable)
			}
			cancel()
		}
		select {
		case err := <-waits:
			b.Errorf("%s: the call with all the time came back first: %v", name, err)
		default:
			end()
			<-waits
		}
		end()
	}
	b.really(true)
}

func recovers(b *bench) {
	b.each(brief, device.ErrUnreachable)
	b.SetFault(None)
	b.says(b.truth())
}

func refuses(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	if err := b.off(ctx); err == nil {
		b.Error("off has no error")
	}
	b.really(true)
	b.says(device.On)
}

func ignored(b *bench) {
	must(b, b.off)
	b.really(true)
	b.notYetOff()
}

func denied(b *bench) {
	b.each(patience, device.ErrDenied)
	b.really(true)
}

func unreachable(b *bench) {
	b.each(brief, device.ErrUnreachable)
	b.really(true)
}

func lostAnswer(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	_ = b.off(ctx) // nobody can know
	b.SetFault(None)
	b.says(b.truth())
	b.back(b.Machine.On())
}

// mute lets the caller in and answers nothing. A driver that takes a missing answer, or a
// refusal that it can't settle by reading, for an off fails here (S2: what is unknown is
// never taken for off).
func mute(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	for name, call := range b.calls() {
		if err := call(ctx); err == nil {
			b.Errorf("%s has no error", name)
		}
	}
	b.really(true)
}

func slow(b *bench) {
	must(b, b.off)
	b.really(true)
	b.notYetOff()
	b.Settle()
	b.really(false)
	b.says(device.Off)
}

// No driver can notice an early device, which is why a Kind declares EffectDelay.
func early(b *bench) {
	must(b, b.off)
	b.really(true)
	b.says(device.Off)
	b.Settle()
	b.really(false)
	b.says(device.Off)
}

func lie(b *bench) {
	must(b, b.off)
	b.really(true)
	b.says(device.Off)
	b.SetFault(None)
	b.notYetOff()
}

// The caller refuses another machine (S11: the device is the node's own). A driver that
// returns the identity that it was given, and not the one that it reads, would hide it.
func other(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	r, err := b.state(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if r.Identity == "" || r.Identity == b.h.Identity || device.SameIdentity(r.Identity, b.h.Identity) {
		b.Errorf("the identity is %q, and must not be %q", r.Identity, b.h.Identity)
	}
}

// If stopping were read as on, nodefence would send an Off of its own, and would switch the
// machine on again after it (S12: only what we switched off is switched on).
func stopping(b *bench) {
	if r, err := b.state(b.Context()); !errors.Is(err, device.ErrStopping) {
		b.Errorf("state is %q and %v, want %v", r.Power, err, device.ErrStopping)
	}
	b.really(true)
	b.Settle()
	b.really(false)
	b.says(device.Off)
	if got := b.Commands(); len(got) > 0 {
		b.Errorf("state reads sent %q", got)
	}
}

func must(b *bench, call func(context.Context) error) {
	b.Helper()
	ctx, cancel := b.within(patience)
	defer cancel()
	if err := call(ctx); err != nil {
		b.Fatal(err)
	}
}

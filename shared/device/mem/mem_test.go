package mem_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/mem"
)

const password = "open-sesame"

// names are what machines are called for a fault.
var names = map[string]string{
	devicetest.None:            "seven",
	devicetest.Hang:            "hang",
	devicetest.Refuse:          "refuse",
	devicetest.ConflictWhenOff: "conflict",
	devicetest.AcceptAndIgnore: "ignore",
	devicetest.WrongPassword:   "wrongpassword",
	devicetest.Unreachable:     "unreachable",
	devicetest.ResetConnection: "reset",
	devicetest.Mute:            "mute",
	devicetest.Slow:            "slow",
	devicetest.Early:           "early",
	devicetest.Lie:             "lie",
	devicetest.Other:           "other",
}

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "mem", harness()) }

func harness() devicetest.Harness {
	h := devicetest.Harness{Against: "mem", Secrets: []string{password}, Identity: names[devicetest.None] + "-1"}
	h.New = func(t testing.TB, fault string) devicetest.Machine {
		now := time.Unix(0, 0)
		rack, name := mem.NewRack(func() time.Time { return now }), names[fault]+"-1"
		return devicetest.Machine{
			Driver:   open(t, rack, name),
			On:       func() bool { return rack.On(name) },
			Commands: func() []string { return rack.Commands(name) },
			SetFault: func(fault string) { rack.SetFault(name, names[fault]) },
			Settle:   func() { now = now.Add(rack.Kind().EffectDelay) },
		}
	}
	return h
}

func TestIdentity(t *testing.T) {
	for name, want := range map[string]string{"seven": "seven", "slow-1": "slow-1", "other-1": "another"} {
		r, err := open(t, mem.NewRack(time.Now), name).State(t.Context())
		if err != nil || r.Identity != want {
			t.Errorf("%s: identity %q and %v, want %q", name, r.Identity, err, want)
		}
	}
}

// TestTime is what a device says and what is so: at once after an off, one
// nanosecond before the delay is over, and when it is.
func TestTime(t *testing.T) {
	for name, want := range map[string][3]string{
		"seven-1":  {"Off false", "Off false", "Off false"},
		"other-1":  {"Off false", "Off false", "Off false"},
		"slow-1":   {"On true", "On true", "Off false"},
		"early-1":  {"Off true", "Off true", "Off false"},
		"lie-1":    {"Off true", "Off true", "Off true"},
		"ignore-1": {"On true", "On true", "On true"},
	} {
		now := time.Unix(0, 0)
		rack := mem.NewRack(func() time.Time { return now })
		d := open(t, rack, name)
		if err := d.Off(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got [3]string
		for i, step := range []time.Duration{0, mem.Delay - 1, 1} {
			now = now.Add(step)
			r, err := d.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got[i] = fmt.Sprint(r.Power, " ", rack.On(name))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if err := d.On(t.Context()); err != nil || !rack.On(name) {
			t.Errorf("%s: not on again: %v", name, err)
		}
		now = now.Add(2 * mem.Delay)
		if r, err := d.State(t.Context()); err != nil || r.Power != device.On || !rack.On(name) {
			t.Errorf("%s: not on for good: %+v, %v", name, r, err)
		}
	}
}

func TestAnswerIsLostEveryOtherTime(t *testing.T) {
	rack := mem.NewRack(time.Now)
	d := open(t, rack, "reset-1")
	var lost []bool
	for _, call := range []func(context.Context) error{d.Off, d.On, d.Off} {
		lost = append(lost, call(t.Context()) != nil)
	}
	if !slices.Equal(lost, []bool{true, false, true}) {
		t.Errorf("lost %v", lost)
	}
	if got := rack.Commands("reset-1"); !slices.Equal(got, []string{"off", "on", "off"}) {
		t.Errorf("commands %q", got)
	}
}

func TestRacksAndMachinesAreApart(t *testing.T) {
	a, b := mem.NewRack(time.Now), mem.NewRack(time.Now)
	if err := open(t, a, "seven").Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.On("seven") || !a.On("eight") || !b.On("seven") {
		t.Error("an off went further than its machine")
	}
}

func TestOpen(t *testing.T) {
	kind := mem.NewRack(time.Now).Kind()
	for name, want := range map[string]string{
		"":      "name is missing",
		"a\nb":  `name "a\nb" has white space in it`,
		"seven": "<nil>",
	} {
		params := map[string]string{"name": name}
		_, err := kind.Open(params)
		if got := fmt.Sprint(err); got != want {
			t.Errorf("open %q: %s, want %s", name, got, want)
		}
		address, err := kind.Address(params)
		if got := fmt.Sprint(err); got != want || (err == nil && address != name) {
			t.Errorf("address %q: %q, %s, want %s", name, address, got, want)
		}
	}
}

func open(t testing.TB, rack *mem.Rack, name string) device.Driver {
	t.Helper()
	d, err := rack.Kind().Open(map[string]string{"name": name, "password": password})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

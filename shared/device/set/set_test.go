package set_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/mem"
	"github.com/nodefence/nodefence/shared/device/set"
)

// names are what machines of the rack are called for a fault.
var names = map[string]string{
	devicetest.None: "seven", devicetest.Hang: "hang", devicetest.Refuse: "refuse", devicetest.ConflictWhenOff: "conflict",
	devicetest.AcceptAndIgnore: "ignore", devicetest.WrongPassword: "wrongpassword", devicetest.Unreachable: "unreachable",
	devicetest.ResetConnection: "reset", devicetest.Mute: "mute", devicetest.Slow: "slow", devicetest.Early: "early",
	devicetest.Lie: "lie", devicetest.Other: "other",
}

func open(t testing.TB, rack *mem.Rack, name string) device.Driver {
	t.Helper()
	d, err := rack.Kind().Open(map[string]string{"name": name})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// of makes a set of the rack's machines, each held to its own name.
func of(t testing.TB, rack *mem.Rack, members ...string) device.Driver {
	t.Helper()
	var all []set.Member
	for _, n := range members {
		all = append(all, set.Member{Name: n, Identity: n, Driver: open(t, rack, n)})
	}
	d, err := set.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	for _, counted := range []string{"1", "2"} {
		t.Run("commands of member "+counted, func(t *testing.T) { devicetest.Run(t, harness(counted)) })
	}
}

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "set", harness("1")) }

// harness is of two members that have the same fault. The suite counts the commands
// of one member, and the machine is on while either supply is.
func harness(counted string) devicetest.Harness {
	h := devicetest.Harness{Identity: names[devicetest.None] + "-1"}
	for fault := range names {
		h.Faults = append(h.Faults, fault)
	}
	h.New = func(t testing.TB, fault string) devicetest.Machine {
		now := time.Unix(0, 0)
		rack, name := mem.NewRack(func() time.Time { return now }), names[fault]+"-"
		return devicetest.Machine{
			Driver:   of(t, rack, name+"1", name+"2"),
			On:       func() bool { return rack.On(name+"1") || rack.On(name+"2") },
			Commands: func() []string { return rack.Commands(name + counted) },
			SetFault: func(fault string) {
				rack.SetFault(name+"1", names[fault])
				rack.SetFault(name+"2", names[fault])
			},
			Settle: func() { now = now.Add(rack.Kind().EffectDelay) },
		}
	}
	return h
}

// TestOneMember misbehaves, and the other does not: what an Off comes to, what is
// seen after it, and what became of both.
func TestOneMember(t *testing.T) {
	type seen struct {
		Off    error
		Power  device.Power
		State  error
		On     [2]bool
		Orders [2][]string
	}
	off := []string{"off"}
	for fault, want := range map[string]seen{
		"seven":         {nil, device.Off, nil, [2]bool{false, false}, [2][]string{off, off}},
		"unreachable":   {device.ErrUnreachable, device.Unknown, device.ErrUnreachable, [2]bool{true, false}, [2][]string{nil, off}},
		"hang":          {device.ErrUnreachable, device.Unknown, device.ErrUnreachable, [2]bool{true, false}, [2][]string{nil, off}},
		"wrongpassword": {device.ErrDenied, device.Unknown, device.ErrDenied, [2]bool{true, false}, [2][]string{nil, off}},
		"mute":          {device.ErrConflict, device.Unknown, device.ErrConflict, [2]bool{true, false}, [2][]string{nil, off}},
		"refuse":        {device.ErrConflict, device.On, nil, [2]bool{true, false}, [2][]string{nil, off}},
		"ignore":        {nil, device.On, nil, [2]bool{true, false}, [2][]string{off, off}},
		"slow":          {nil, device.On, nil, [2]bool{true, false}, [2][]string{off, off}},
		"reset":         {device.ErrUnreachable, device.Off, nil, [2]bool{false, false}, [2][]string{off, off}},
		"other":         {device.ErrUnknown, device.On, nil, [2]bool{true, false}, [2][]string{nil, off}},
	} {
		for i, order := range [][2]int{{0, 1}, {1, 0}} {
			synced(t, fault+[]string{" first", " last"}[i], func(t *testing.T) {
				now := time.Unix(0, 0)
				rack := mem.NewRack(func() time.Time { return now })
				both := []string{fault + "-x", "honest-y"}
				d := of(t, rack, both[order[0]], both[order[1]])
				got := seen{}
				within(t, func(ctx context.Context) { got.Off = kind(d.Off(ctx)) })
				within(t, func(ctx context.Context) {
					r, err := d.State(ctx)
					got.Power, got.State = r.Power, kind(err)
					if told := r.Identity == "another"; told != (fault == "other") {
						t.Errorf("the identity is %q", r.Identity)
					}
				})
				for i, n := range both {
					got.On[i], got.Orders[i] = rack.On(n), rack.Commands(n)
				}
				if d := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return a == b })); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestOneMemberIsNotSwitchedOn with the others: the set counts as on, so that it is cut
// again if needed, and names the missing supply, until an On has reached every member
// (S25).
func TestOneMemberIsNotSwitchedOn(t *testing.T) {
	type seen struct {
		On      error
		Reading device.Reading
		Really  [2]bool
	}
	const x = "device x of the set "
	for fault, want := range map[string]seen{
		"seven":         {nil, device.Reading{Power: device.On}, [2]bool{true, true}},
		"unreachable":   {device.ErrUnreachable, device.Reading{Power: device.On, MissingSupply: x + "can't be read"}, [2]bool{false, true}},
		"hang":          {device.ErrUnreachable, device.Reading{Power: device.On, MissingSupply: x + "can't be read"}, [2]bool{false, true}},
		"wrongpassword": {device.ErrDenied, device.Reading{Power: device.On, MissingSupply: x + "can't be read"}, [2]bool{false, true}},
		"mute":          {device.ErrConflict, device.Reading{Power: device.On, MissingSupply: x + "can't be read"}, [2]bool{false, true}},
		"refuse":        {device.ErrConflict, device.Reading{Power: device.On, MissingSupply: x + "reads off"}, [2]bool{false, true}},
	} {
		for i, order := range [][2]string{{"x", "y"}, {"y", "x"}} {
			synced(t, fault+[]string{" first", " last"}[i], func(t *testing.T) {
				rack := mem.NewRack(time.Now)
				d := of(t, rack, order[0], order[1])
				within(t, func(ctx context.Context) {
					if err := d.Off(ctx); err != nil || rack.On("x") || rack.On("y") {
						t.Fatal("not cut:", err)
					}
				})
				rack.SetFault("x", fault)
				got := seen{}
				within(t, func(ctx context.Context) { got.On = kind(d.On(ctx)) })
				within(t, func(ctx context.Context) {
					r, err := d.State(ctx)
					if err != nil {
						t.Error(err)
					}
					got.Reading = device.Reading{Power: r.Power, MissingSupply: r.MissingSupply}
					why := want.On
					if want.Reading.MissingSupply == x+"reads off" {
						why = nil
					}
					if kind(r.Unread) != why {
						t.Errorf("it was not read by %v, want %v", r.Unread, why)
					}
				})
				got.Really = [2]bool{rack.On("x"), rack.On("y")}
				if d := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return a == b })); d != "" {
					t.Error(d)
				}
				rack.SetFault("x", "seven")
				within(t, func(ctx context.Context) {
					if err := d.On(ctx); err != nil {
						t.Error(err)
					}
				})
				within(t, func(ctx context.Context) {
					if r, err := d.State(ctx); err != nil || r.Power != device.On || r.MissingSupply != "" {
						t.Errorf("asked once more, it reads %+v, %v", r, err)
					}
				})
				if got := rack.Commands("y"); !slices.Equal(got, []string{"off", "on"}) {
					t.Errorf("the other member was told %q", got)
				}
			})
		}
	}
}

// synced runs a test whose time passes only while all wait.
func synced(t *testing.T, name string, do func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, do) })
}

// within is a caller's time, of which a member that hangs has half.
func within(t testing.TB, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	do(ctx)
}

func kind(err error) error {
	for _, k := range []error{device.ErrUnreachable, device.ErrDenied, device.ErrConflict, device.ErrUnknown} {
		if errors.Is(err, k) {
			return k
		}
	}
	return err
}

// TestSwitchesOnlyWhatMustBe: a member that is so already gets no command (S9).
func TestSwitchesOnlyWhatMustBe(t *testing.T) {
	rack := mem.NewRack(time.Now)
	a := open(t, rack, "a")
	if err := a.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := of(t, rack, "a", "b", "c")
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Errorf("one of three is off, and the set is %q, %v", r.Power, err)
	}
	for _, call := range []func(context.Context) error{d.Off, d.Off, d.On, d.On} {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"a", "b", "c"} {
		if got := rack.Commands(n); !slices.Equal(got, []string{"off", "on"}) {
			t.Errorf("%s was told %q", n, got)
		}
	}
}

func TestNew(t *testing.T) {
	rack := mem.NewRack(time.Now)
	a := set.Member{Name: "a", Driver: open(t, rack, "a")}
	for want, members := range map[string][]set.Member{
		"a set has two devices at least": {a},
		"device a is twice in one set":   {a, a},
	} {
		if _, err := set.New(members...); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAMemberThatDoesNotKnowIsNotOff: an answer that is none, without an error (S2).
func TestAMemberThatDoesNotKnowIsNotOff(t *testing.T) {
	rack := mem.NewRack(time.Now)
	off := open(t, rack, "off")
	if err := off.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := set.New(set.Member{Name: "off", Driver: off}, set.Member{Name: "mute", Driver: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.State(t.Context()); err == nil || r.Power != device.Unknown {
		t.Errorf("read %q, %v", r.Power, err)
	}
}

// silent is a device that neither knows nor fails.
type silent struct{}

func (silent) State(context.Context) (device.Reading, error) { return device.Reading{}, nil }
func (silent) Off(context.Context) error                     { return nil }
func (silent) On(context.Context) error                      { return nil }

// TestAMemberThatIsNotReadIsNotSwitched: somebody else may have switched it off, and an On
// after our Off would undo that (S9, S12). The other member is switched all the same.
func TestAMemberThatIsNotReadIsNotSwitched(t *testing.T) {
	for name, tc := range map[string]struct{ answers, want error }{
		"it can't be read":           {device.ErrUnreachable, device.ErrUnreachable},
		"it does not know its power": {nil, device.ErrConflict},
		"it is on its way off":       {device.ErrStopping, device.ErrStopping},
	} {
		t.Run(name, func(t *testing.T) {
			rack, blind := mem.NewRack(time.Now), &unread{err: tc.answers}
			d, err := set.New(set.Member{Name: "blind", Driver: blind}, set.Member{Name: "y", Driver: open(t, rack, "y")})
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []func(context.Context) error{d.Off, d.On} {
				if err := call(t.Context()); !errors.Is(err, tc.want) {
					t.Errorf("the member was not read, and that is told as %v", err)
				}
			}
			if len(blind.told) > 0 || !slices.Equal(rack.Commands("y"), []string{"off", "on"}) {
				t.Errorf("the member that was not read was told %q, the other one %q", blind.told, rack.Commands("y"))
			}
		})
	}
}

// unread is a device that takes every command and gives no reading.
type unread struct {
	err  error
	told []string
}

func (u *unread) State(context.Context) (device.Reading, error) { return device.Reading{}, u.err }
func (u *unread) Off(context.Context) error                     { u.told = append(u.told, "off"); return nil }
func (u *unread) On(context.Context) error                      { u.told = append(u.told, "on"); return nil }

// account is a device that tells what its account lacks.
type account struct {
	device.Driver
	lacks []string
	err   error
}

func (a account) Lacking(context.Context) ([]string, error) { return a.lacks, a.err }

// TestRights: each member's are told, with its name.
func TestRights(t *testing.T) {
	plain := mem.NewRack(time.Now)
	for name, tc := range map[string]struct {
		a, b device.Driver
		want []string
		err  error
	}{
		"both lack some":            {account{lacks: []string{"start", "stop"}}, account{lacks: []string{"off"}}, []string{"start (device a of the set)", "stop (device a of the set)", "off (device b of the set)"}, nil},
		"one knows no rights":       {open(t, plain, "a"), account{lacks: []string{"off"}}, []string{"off (device b of the set)"}, nil},
		"one does not know its own": {account{err: device.ErrUnreachable}, account{lacks: []string{"off"}}, []string{"off (device b of the set)"}, nil},
		"nobody knows":              {account{err: device.ErrUnreachable}, open(t, plain, "b"), nil, device.ErrUnreachable},
		"none lacks any":            {account{}, account{}, nil, nil},
	} {
		d, err := set.New(set.Member{Name: "a", Driver: tc.a}, set.Member{Name: "b", Driver: tc.b})
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.(device.Rights).Lacking(t.Context())
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

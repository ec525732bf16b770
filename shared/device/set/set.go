package set

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// Member is one device of a set.
type Member struct {
	// Name tells the member from the others in errors.
	Name string
	// Identity is the machine that the member must answer for, if it can tell; empty if
	// that is not known.
	Identity string
	device.Driver
}

// New makes one device of several.
func New(members ...Member) (device.Driver, error) {
	if len(members) < 2 {
		return nil, errors.New("a set has two devices at least")
	}
	names := map[string]bool{}
	for _, m := range members {
		if names[m.Name] {
			return nil, fmt.Errorf("device %s is twice in one set", m.Name)
		}
		names[m.Name] = true
	}
	return driver(members), nil
}

// driver calls the members one after the other.
type driver []Member

// State reads every member. The set is on if any member is on, so that the others are cut
// too. It then also names the first member that is not seen on, so that On is called again, and
// says why a member can't be read.
// The set is off only if all members are off. Otherwise it is unknown, and the error names
// the member.
func (d driver) State(ctx context.Context) (device.Reading, error) {
	var sum device.Reading
	var first error
	power, lacks := device.Off, ""
	for i, m := range d {
		r, err := d.read(ctx, i)
		why := "reads off"
		switch {
		case err != nil:
			why = "can't be read"
			first = cmp.Or(first, fmt.Errorf("device %s of the set: %w", m.Name, err))
		case r.Power == device.On:
			power, why = device.On, ""
		case r.Power != device.Off:
			why = "does not know its power"
			first = cmp.Or(first, fmt.Errorf("device %s of the set: its power is not known", m.Name)) // S2: what is unknown is never taken for off
		}
		if why != "" && lacks == "" {
			lacks = "device " + m.Name + " of the set " + why
		}
		if strange(m, r) {
			// The caller refuses this machine, and must see it (S11: the device is the
			// node's own).
			return device.Reading{Power: r.Power, Identity: r.Identity}, nil
		}
		if sum.Identity == "" {
			sum.Identity = r.Identity
		}
	}
	if power != device.On && first != nil {
		return device.Reading{}, first
	}
	if sum.Power = power; power == device.On {
		sum.MissingSupply, sum.Unread = lacks, first
	}
	return sum, nil
}

// Off cuts every member that reads on. A member that fails does not keep the others from
// being cut; the first failure is returned.
func (d driver) Off(ctx context.Context) error { return d.each(ctx, device.Off, device.Driver.Off) }

// On switches on every member that reads off.
func (d driver) On(ctx context.Context) error { return d.each(ctx, device.On, device.Driver.On) }

// Lacking returns the rights that any member's account lacks, with the member's name. It
// leaves out members whose rights are unknown.
func (d driver) Lacking(ctx context.Context) ([]string, error) {
	var all []string
	var unknown error
	for i, m := range d {
		lacks, err := d.lacking(ctx, i)
		if err != nil {
			unknown = fmt.Errorf("device %s of the set: %w", m.Name, err)
		}
		for _, l := range lacks {
			all = append(all, l+" (device "+m.Name+" of the set)")
		}
	}
	if len(all) == 0 {
		return nil, unknown
	}
	return all, nil
}

func (d driver) lacking(ctx context.Context, i int) ([]string, error) {
	r, can := d[i].Driver.(device.Rights)
	if !can {
		return nil, nil
	}
	ctx, cancel := d.share(ctx, i)
	defer cancel()
	return r.Lacking(ctx)
}

func (d driver) each(ctx context.Context, goal device.Power, call func(device.Driver, context.Context) error) error {
	var first error
	for i, m := range d {
		if err := d.one(ctx, i, goal, call); err != nil && first == nil {
			first = fmt.Errorf("device %s of the set: %w", m.Name, err)
		}
	}
	return first
}

// one reads a member and switches it if needed (S9: read first, then act). A member that
// can't be read gets no command: somebody else may have switched it off, and a member that
// is sent an Off is switched on again later (S12: only what we switched off is switched
// on).
func (d driver) one(ctx context.Context, i int, goal device.Power, call func(device.Driver, context.Context) error) error {
	ctx, cancel := d.share(ctx, i)
	defer cancel()
	r, err := d[i].State(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("no command was sent, as it can't be read: %w", err)
	case strange(d[i], r):
		return fmt.Errorf("%w: it answers for %s, enrolled is %s", device.ErrUnknown, r.Identity, d[i].Identity) // S11: the device is the node's own
	case r.Power == goal:
		return nil
	case r.Power == device.Unknown:
		return fmt.Errorf("%w: no command was sent, as it does not know its power", device.ErrConflict)
	}
	return call(d[i].Driver, ctx)
}

func (d driver) read(ctx context.Context, i int) (device.Reading, error) {
	ctx, cancel := d.share(ctx, i)
	defer cancel()
	return d[i].State(ctx)
}

// share is a member's part of the remaining time, so that a member that hangs leaves enough
// for those after it.
func (d driver) share(ctx context.Context, i int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(len(d)-i))
}

// strange: the member told an identity, and it is another machine's.
func strange(m Member, r device.Reading) bool {
	return m.Identity != "" && r.Identity != "" && !device.SameIdentity(m.Identity, r.Identity)
}

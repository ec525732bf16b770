package mem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// driver calls one machine's device.
type driver struct {
	rack *Rack
	name string
}

// State reads the power and the identity, which is the name.
func (d *driver) State(ctx context.Context) (device.Reading, error) {
	var r device.Reading
	err := d.talk(ctx, func(m *machine, now time.Time) error {
		r = m.reading(d.name, now)
		return nil
	})
	return r, err
}

// Off cuts the power.
func (d *driver) Off(ctx context.Context) error { return d.control(ctx, device.Off) }

// On switches it on.
func (d *driver) On(ctx context.Context) error { return d.control(ctx, device.On) }

func (d *driver) control(ctx context.Context, goal device.Power) error {
	return d.talk(ctx, func(m *machine, now time.Time) error {
		if err := device.InTime(ctx); err != nil {
			return fmt.Errorf("%w: %w", device.ErrUnreachable, err)
		}
		err := m.control(goal, now)
		if errors.Is(err, errAlready) {
			return nil
		}
		return err
	})
}

// talk is one conversation with the device, which may refuse it.
func (d *driver) talk(ctx context.Context, do func(*machine, time.Time) error) error {
	d.rack.mu.Lock()
	defer d.rack.mu.Unlock()
	m := d.rack.machine(d.name)
	if m.fault == "hang" {
		d.rack.mu.Unlock()
		<-ctx.Done()
		d.rack.mu.Lock()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %s: %w", device.ErrUnreachable, d.name, err)
	}
	switch m.fault {
	case "wrongpassword":
		return fmt.Errorf("%w: %s", device.ErrDenied, d.name)
	case "unreachable":
		return fmt.Errorf("%w: %s", device.ErrUnreachable, d.name)
	case "mute":
		return fmt.Errorf("%w: %s does not say", device.ErrConflict, d.name)
	}
	return do(m, d.rack.now())
}

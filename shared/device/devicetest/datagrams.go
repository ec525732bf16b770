package devicetest

import "github.com/nodefence/nodefence/shared/device"

// wholly is all that a device does, with its identity, beside answers that are none.
func wholly(b *bench) {
	identity(b)
	b.says(device.On)
	must(b, b.off)
	b.really(false)
	b.says(device.Off)
	b.back(false)
}

func invalid(b *bench) {
	b.each(patience, device.ErrInvalid)
	b.really(true)
}

// unnamed would be another machine for all that is known (S11).
func unnamed(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	if r, err := b.state(ctx); err == nil {
		b.Errorf("state is %q of %q without an error", r.Power, r.Identity)
	}
}

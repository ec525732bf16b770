package devicetest

import "github.com/nodefence/nodefence/shared/device"

// wholly checks a device that does everything right, with its identity, while others send
// false answers.
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

// without an identity it may be another machine (S11)
func unnamed(b *bench) {
	ctx, cancel := b.within(patience)
	defer cancel()
	if r, err := b.state(ctx); err == nil {
		b.Errorf("state is %q of %q without an error", r.Power, r.Identity)
	}
}

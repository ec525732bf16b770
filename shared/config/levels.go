package config

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// next reads the levels after the first. Each level is a device, or a set, of its own: a
// device that failed at one level is no other way at the next. Levels have no gaps: a level
// after a missing one is a mistake.
func (r *resolver) next(from source, first api.Binding) ([]Level, error) {
	var out []Level
	devices := Addresses(first)
	for i, key := range levels {
		e, ok := from.lines[key]
		switch {
		case !ok:
			continue
		case i > len(out):
			return nil, e.at.errorf("there is no %s; levels have no gaps", levels[len(out)])
		}
		s, err := r.stage(from, key)
		if err != nil {
			return nil, err
		}
		if err := proves(from, key, s); err != nil {
			return nil, err
		}
		b, err := join(from, s.devices)
		if err != nil {
			return nil, err
		}
		for _, a := range Addresses(b.Binding) {
			if slices.Contains(devices, a) {
				return nil, e.at.errorf("device %s is switched by an earlier level already; each level needs a device of its own", a)
			}
			devices = append(devices, a)
		}
		if on := len(s.on) > 0; on == first.LeaveOff {
			return nil, e.at.errorf("%s", map[bool]string{
				true:  "this level switches the machine on again, and power_management leaves it off; say the same at all levels",
				false: "no method of this level switches the machine on again, and power_management does; say the same at all levels",
			}[on])
		}
		l := Level{Power: slices.Concat(s.steps, s.on), Binding: b.Binding, Origins: b.origins}
		l.Binding.Sources, l.Binding.LeaveOff = r.sources, first.LeaveOff
		out = append(out, l)
	}
	return out, nil
}

// proves refuses a level without an off, which can prove nothing.
func proves(from source, key string, s stage) error {
	if has(s.steps, Off) {
		return nil
	}
	at := from.at()
	if e, ok := from.lines[key]; ok {
		at = e.at
	}
	return at.errorf("nothing in %s can prove the machine off: it has no method that switches a device off", key)
}

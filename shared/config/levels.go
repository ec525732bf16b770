package config

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Level is another way to switch a node's machine, for when the level before can't show
// that the machine is off.
type Level struct {
	Power   []Step      `json:"power"`
	Binding api.Binding `json:"binding"`
	// Origins are like a plan's.
	Origins map[string]string `json:"origins,omitempty"`
}

// Bindings are the bindings of all levels; none if no device switches the machine.
func (p Plan) Bindings() []api.Binding {
	if p.Binding.Driver == "" {
		return nil
	}
	return append([]api.Binding{p.Binding}, p.NextBindings()...)
}

// NextBindings are the bindings after the first.
func (p Plan) NextBindings() []api.Binding {
	var all []api.Binding
	for _, l := range p.Next {
		all = append(all, l.Binding)
	}
	return all
}

// levels are the keys of the further levels, in order.
var levels = []string{power + "_2", power + "_3", power + "_4"}

// isPower reports whether the key is a level's.
func isPower(key string) bool { return key == power || slices.Contains(levels, key) }

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

package config

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// cutStep adds a device that cuts off storage or network, or gives it back.
func (r *resolver) cutStep(out *stage, key string, m *method, k device.Kind, s Step) error {
	if isPower(key) {
		return m.at.errorf("method %q: driver %s cuts off %s, and the machine runs on; it belongs in isolation", m.name, k.Name, strings.ToLower(string(k.Scope)))
	}
	var err error
	if s.Do, err = cutAction(key, m); err != nil {
		return err
	}
	if s.Do == Connect && k.NoOn != "" {
		return m.at.errorf("method %q gives access back, and driver %s can't: %s; leave it out of recovery", m.name, k.Name, k.NoOn)
	}
	b, err := r.bind(m, k)
	if err != nil {
		return err
	}
	b.Role, b.Must, b.Covers = api.Role(k.Scope), s.MustSucceed, covers(m, k)
	b.LeaveOff = k.NoOn != ""
	b.off, b.on = s.Do == Disconnect, s.Do == Connect
	out.steps = append(out.steps, s)
	if s.Do != Status {
		out.cuts = append(out.cuts, b)
	}
	return nil
}

// cutAction returns the action of a device that cuts off storage or network. In recovery
// that is always to give access back, also if the method names no action.
func cutAction(key string, m *method) (Do, error) {
	off, on, err := action(m)
	if err != nil {
		return "", err
	}
	_, given := m.values["action"]
	do := Disconnect
	switch {
	case !given && key == recovery, on && !off:
		do = Connect
	case !off:
		do = Status
	}
	if (key == recovery) != (do == Connect) && do != Status {
		return "", m.at.errorf("method %q: in isolation its action is off, in recovery it is on", m.name)
	}
	return do, nil
}

// covers is the storage that the method says its device cuts off; nil if none.
func covers(m *method, k device.Kind) *api.Coverage {
	names := func(key string) []string {
		if k.Scope != device.ScopeStorage {
			return nil
		}
		all := strings.FieldsFunc(m.values[key].value, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
		slices.Sort(all)
		return slices.Compact(all)
	}
	c := api.Coverage{StorageClassNames: names(storageClasses), CSIDriverNames: names(csiDrivers)}
	if c.Empty() {
		return nil
	}
	return &c
}

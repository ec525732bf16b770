package config

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// Cut is a device that cuts the node's machine off from storage or network.
type Cut struct {
	Method  string      `json:"method"`
	Binding api.Binding `json:"binding"`
	// Origins are like a plan's.
	Origins map[string]string `json:"origins,omitempty"`
}

// maxCuts is the API's bound.
const maxCuts = 4

// scopes are the proposal's methods that are named after their effect. A user who names one
// writes a method of that name, with a device that has this effect.
var scopes = map[string]device.Scope{"storage_isolate": device.ScopeStorage, "network_isolate": device.ScopeNetwork}

// The lines of a method that say which storage its device cuts off. They are not passed to
// the driver.
const (
	storageClasses = "storage_classes"
	csiDrivers     = "csi_drivers"
)

// saysCover reports whether a line is one of these.
func saysCover(k device.Kind, e entry) bool {
	return k.Scope == device.ScopeStorage && (e.name == storageClasses || e.name == csiDrivers)
}

// Cuts are the devices of the isolation, in order.
func (p Plan) Cuts() []api.Binding {
	var all []api.Binding
	for _, c := range p.Cut {
		all = append(all, c.Binding)
	}
	return all
}

// Devices are all devices that this plan calls, in order, with their names.
func (p Plan) Devices() []api.Binding {
	return api.Named(slices.Concat(p.Bindings(), p.Cuts())...)
}

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

// cuts checks that recovery gives back only what isolation cuts off.
func (r *resolver) cuts(from source, isolated, recovered []*bound) ([]Cut, error) {
	var out []Cut
	at := func(b *bound) int {
		return slices.IndexFunc(out, func(c Cut) bool { return c.Binding.Driver == b.Driver && c.Binding.Address == b.Address })
	}
	for _, b := range isolated {
		if i := at(b); i >= 0 {
			return nil, from.at().errorf("methods %s and %s cut off access by the same device, %s %s; leave one of them out", out[i].Method, b.method, b.Driver, b.Address)
		}
		c := Cut{Method: b.method, Binding: b.Binding, Origins: b.origins}
		c.Binding.Sources = r.sources
		out = append(out, c)
	}
	for _, b := range recovered {
		if at(b) < 0 {
			return nil, from.at().errorf("method %s gives back access that no method of isolation cuts off, %s %s", b.method, b.Driver, b.Address)
		}
	}
	if len(out) > maxCuts {
		return nil, from.at().errorf("%d devices cut off storage or network; at most %d are allowed", len(out), maxCuts)
	}
	return out, nil
}

// byCut: no device switches the machine. Instead there is a device whose cut must be seen,
// for the storage that it covers.
func (p Plan) byCut(power []Step, devices []*bound) bool {
	return !has(power, Off) && len(devices) == 0 && slices.ContainsFunc(p.Cut, func(c Cut) bool {
		return c.Binding.Must && c.Binding.Role == api.RoleStorage && !c.Binding.Covers.Empty()
	})
}

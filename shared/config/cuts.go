package config

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// maxCuts is the API's bound.
const maxCuts = 4

// The lines of a method that say which storage its device cuts off. They are not passed to
// the driver.
const (
	storageClasses = "storage_classes"
	csiDrivers     = "csi_drivers"
)

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

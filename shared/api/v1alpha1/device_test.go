package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDevicesHaveNames by what they do and by their place, however many others there are.
func TestDevicesHaveNames(t *testing.T) {
	of := func(roles ...Role) *Decision {
		var all []Binding
		for _, r := range roles {
			all = append(all, Binding{Role: r})
		}
		return &Decision{Devices: Named(all...)}
	}
	type said struct {
		Power, Cuts []string
		// At are the devices of levels 0, 1 and 2.
		At [3]string
	}
	for name, c := range map[string]struct {
		dec  *Decision
		want said
	}{
		"none":               {of(), said{}},
		"one level":          {of(""), said{Power: []string{"power-1"}, At: [3]string{"power-1", "power-1", "power-1"}}},
		"nothing but a cut":  {of(RoleStorage), said{Cuts: []string{"storage-1"}}},
		"a level by its end": {of(RolePower, RoleNetwork), said{[]string{"power-1"}, []string{"network-1"}, [3]string{"power-1", "power-1", "power-1"}}},
		"several of each": {of(RolePower, RolePower, RoleStorage, RoleNetwork, RoleStorage), said{
			[]string{"power-1", "power-2"}, []string{"storage-1", "network-1", "storage-2"}, [3]string{"power-1", "power-2", "power-1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			names := func(all []Binding) (out []string) {
				for i := range all {
					if c.dec.Device(all[i].Name) != &all[i] {
						t.Errorf("%s is not found by its name", all[i].Name)
					}
					out = append(out, all[i].Name)
				}
				return out
			}
			got := said{Power: names(c.dec.PowerLevels()), Cuts: names(c.dec.Isolation())}
			for level := range got.At {
				if b := c.dec.Power(int32(level)); b != nil {
					got.At[level] = b.Name
				}
			}
			if d := cmp.Diff(c.want, got); d != "" || c.dec.Device("power-9") != nil {
				t.Error(d)
			}
		})
	}
}

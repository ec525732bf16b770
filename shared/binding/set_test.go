package binding

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/mem"
)

// TestOpenASet: a set's devices are opened each with its own parameters.
func TestOpenASet(t *testing.T) {
	rack := mem.NewRack(time.Now)
	b := stored(t, nil, nil)
	b.Drivers = map[string]device.Kind{"mem": rack.Kind()}
	member := func(name string) api.SetMember {
		return api.SetMember{Driver: "mem", Address: name, Params: map[string]string{"name": name}, Identity: name}
	}
	d, err := b.Open(t.Context(), &api.Binding{Driver: "set", Members: []api.SetMember{member("a"), member("b")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Off(t.Context()); err != nil || rack.On("a") || rack.On("b") {
		t.Error("not both are off:", err)
	}
	for want, second := range map[string]api.SetMember{
		"device mem a is twice in one set":                           member("a"),
		`device ilo b of the set: driver "ilo" is not in this build`: {Driver: "ilo", Address: "b"},
	} {
		if _, err := b.Open(t.Context(), &api.Binding{Driver: "set", Members: []api.SetMember{member("a"), second}}); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

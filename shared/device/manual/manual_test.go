package manual_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/manual"
)

// TestNeverKnown: it knows nothing, switches nothing, and says who can (S1, S2).
func TestNeverKnown(t *testing.T) {
	const kind = "device does not support this: machine Hall 2, rack 7: "
	for name, tc := range map[string]struct{ contact, who string }{
		"somebody":      {"", "nobody but a person can "},
		"a named phone": {" the site's\thands, +49 30 1234 ", "only the site's hands, +49 30 1234 can "},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := manual.Kind().Open(map[string]string{"machine": "Hall 2,  rack 7", "contact": tc.contact})
			if err != nil {
				t.Fatal(err)
			}
			r, err := d.State(t.Context())
			got := []any{r, err.Error(), d.Off(t.Context()).Error(), d.On(t.Context()).Error()}
			want := []any{
				device.Reading{},
				kind + tc.who + "tell whether it is off: switch it off by hand, see that it is, and say so in spec.requests.confirmOff",
				kind + tc.who + "switch it off", kind + tc.who + "switch it on",
			}
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, device.ErrUnsupported) {
				t.Error(diff)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct{ machine, contact, want, err string }{
		"a place":                         {"Hall 2, rack 7", "", "manual:hall 2, rack 7", ""},
		"the same in other letters (S11)": {" hall 2,\track 7 ", "", "manual:hall 2, rack 7", ""},
		"none":                            {" ", "me", "", "machine is missing; say where a person finds it, such as hall 2, rack 7, place 12"},
		"a novel":                         {strings.Repeat("x", 121), "", "", "machine is longer than 120 bytes, or can't be printed"},
		"a bell":                          {"rack 7", "\a", "", "contact is longer than 120 bytes, or can't be printed"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := manual.Kind().Address(map[string]string{"machine": tc.machine, "contact": tc.contact})
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, text}); d != "" {
				t.Error(d)
			}
		})
	}
}

package adopt

import (
	"slices"
	"strings"
	"testing"
)

// TestParse: only whole lists of known words are read.
func TestParse(t *testing.T) {
	for list, c := range map[string]struct {
		want  Kinds
		error string
	}{
		"":          {nil, ""},
		"  ":        {nil, ""},
		"far":       {Kinds{FAR}, ""},
		"mhc":       {Kinds{MHC}, ""},
		" mhc, far": {Kinds{MHC, FAR}, ""},
		"far,":      {nil, "a word is missing"},
		",":         {nil, "a word is missing"},
		"far mhc":   {nil, `"far mhc" is no kind`},
		"FAR":       {nil, `"FAR" is no kind`},
		"snr,far":   {nil, `"snr" is no kind of objects that can be adopted: write far or mhc`},
		"far,far":   {nil, `"far" is there twice`},
	} {
		got, err := Parse(list)
		if !slices.Equal(got, c.want) || (err == nil) != (c.error == "") || err != nil && !strings.Contains(err.Error(), c.error) {
			t.Errorf("Parse(%q) = %q, %v; want %q, %q", list, got, err, c.want, c.error)
		}
	}
	if got := (Kinds{MHC, FAR}).String(); got != "mhc,far" {
		t.Error(got)
	}
	if (Kinds{MHC}).Has(FAR) || !(Kinds{MHC}).Has(MHC) {
		t.Error("Has")
	}
}

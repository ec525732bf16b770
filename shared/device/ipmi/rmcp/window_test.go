package rmcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWindow: each number is taken once, a few may come late, and none far off.
func TestWindow(t *testing.T) {
	for name, tc := range map[string]struct {
		come []uint32
		want []bool
	}{
		"one after the other":                 {[]uint32{1, 2, 3}, []bool{true, true, true}},
		"a replay":                            {[]uint32{1, 1, 2, 1, 2}, []bool{true, false, true, false, false}},
		"a late one, once":                    {[]uint32{1, 5, 3, 3}, []bool{true, true, true, false}},
		"one that is too late":                {[]uint32{40, 24, 25}, []bool{true, false, true}},
		"some were lost":                      {[]uint32{1, 65, 130}, []bool{true, true, false}},
		"none is 0":                           {[]uint32{0, 1, 0}, []bool{false, true, false}},
		"a BMC that begins to count up high":  {[]uint32{7000, 7001, 7000, 1}, []bool{true, true, false, false}},
		"the end of the numbers is no window": {[]uint32{1<<32 - 1, 1}, []bool{true, false}},
	} {
		var w window
		var got []bool
		for _, n := range tc.come {
			got = append(got, w.take(n) == nil)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

package device

import (
	"strings"
	"testing"
)

func TestSameIdentity(t *testing.T) {
	const uuid = "00112233-4455-6677-8899-aabbccddeeff"
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"one text":                             {uuid, uuid, true},
		"in capitals":                          {uuid, "00112233-4455-6677-8899-AABBCCDDEEFF", true},
		"without dashes":                       {uuid, "00112233445566778899aabbccddeeff", true},
		"with space around it":                 {uuid, " " + uuid + "\n", true},
		"first three fields little-endian":     {uuid, "33221100-5544-7766-8899-aabbccddeeff", true},
		"wholly reversed":                      {uuid, "ffeeddcc-bbaa-9988-7766-554433221100", true},
		"both":                                 {uuid, "ccddeeff-aabb-8899-7766-554433221100", true},
		"the last field little-endian as well": {uuid, "33221100-5544-7766-9988-ffeeddccbbaa", false},
		"one bit off":                          {uuid, "00112233-4455-6677-8899-aabbccddeefe", false},
		"a UUID and a serial number":           {uuid, "SN-0011", false},
		"a UUID cut short":                     {uuid, uuid[:34], false},
		"serial numbers":                       {"sn-0011", " SN-0011", true},
		"other serial numbers":                 {"SN-0011", "SN-1100", false},
		"a reversed serial number":             {"0011", "1100", false},
		"nothing and nothing (S11)":            {"", "", false},
		"nothing and something":                {"", uuid, false},
		"blank and blank, which say nothing":   {" ", "\t", false},
		"a UUID of zeroes is nobody's":         {"00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000", false},
		"a UUID of ones is nobody's":           {"ffffffff-ffff-ffff-ffff-ffffffffffff", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", false},
	} {
		for _, p := range [][2]string{{tc.a, tc.b}, {tc.b, tc.a}} {
			if got := SameIdentity(p[0], p[1]); got != tc.want {
				t.Errorf("%s: %q and %q: %v", name, p[0], p[1], got)
			}
		}
	}
}

// TestIdentityKey: two identities of one machine have one key, in whatever spelling.
func TestIdentityKey(t *testing.T) {
	all := []string{
		"00112233-4455-6677-8899-aabbccddeeff", "00112233445566778899AABBCCDDEEFF", "33221100-5544-7766-8899-aabbccddeeff",
		"ffeeddcc-bbaa-9988-7766-554433221100", "ccddeeff-aabb-8899-7766-554433221100", "00112233-4455-6677-8899-aabbccddeefe",
		"SN-0011", " sn-0011", "SN-1100", "---", "--", "", " ", "i-0123456789abcdef0", "i-0123456789ABCDEF0", "node-k", "NODE-\u212a", "\u017fn-0011", "\u0345", "\u03b9", "\u24b6", "\u24d0",
	}
	same := 0
	for _, a := range all {
		for _, b := range all {
			if SameIdentity(a, b) && a != b {
				same++
			}
			if SameIdentity(a, b) && IdentityKey(a) != IdentityKey(b) {
				t.Errorf("%q and %q are one machine, and have the keys %q and %q", a, b, IdentityKey(a), IdentityKey(b))
			}
		}
	}
	if same < 20 || IdentityKey(all[0]) == IdentityKey(all[5]) || IdentityKey("SN-0011") == IdentityKey("SN-1100") {
		t.Error("too much is one, or too little:", same)
	}
}

func FuzzIdentityKey(f *testing.F) {
	f.Add("00112233-4455-6677-8899-aabbccddeeff", "33221100-5544-7766-8899-aabbccddeeff")
	f.Add("SN-0011", "sn-0011")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, c := range []string{b, strings.ToUpper(a), strings.ToLower(a), strings.ToTitle(a)} {
			if SameIdentity(a, c) && IdentityKey(a) != IdentityKey(c) {
				t.Errorf("%q and %q: %q and %q", a, c, IdentityKey(a), IdentityKey(c))
			}
		}
	})
}

package device

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIdentityFault: an identity that many machines have names none of them, in whatever order
// of bytes (S11: the device is the node's own).
func TestIdentityFault(t *testing.T) {
	const (
		unset, shared = "is what firmware writes where none was set", "is a factory default that many machines have"
		uuid          = "4c4c4544-0043-3010-8052-b4c04f564231"
	)
	for id, want := range map[string]string{
		"":                                     "",
		uuid:                                   "",
		"SN-7":                                 "",
		"i-0123456789abcdef0":                  "",
		"00000000-0000-0000-0000-0cc47a123456": "", // some boards have their MAC address at the end
		"00000000-0000-0000-0000-000000000000": unset,
		"FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF":     unset,
		"fefefefe-fefe-fefe-fefe-fefefefefefe": shared,
		"58585858-5858-5858-5858-585858585858": shared,
		"03000200-0400-0500-0006-000700080009": shared,
		" 00020003000400050006000700080009\n":  shared,
		"09000800-0700-0600-0500-040003000200": shared, // read back to front
		"12345678-1234-5678-90AB-CDDEEFAABBCC": shared,
		"56F49712-FFFF-FFFF-FFFF-FFFFFFFFFFFF": shared,
		"ffffff00-ffff-ffff-ffff-ffffffffffff": shared,
		"4c4c4544-0000-2010-8020-80c04f202020": shared, // a Dell without a service tag
	} {
		if d := cmp.Diff(want, IdentityFault(id)); d != "" {
			t.Errorf("%q: %s", id, d)
		}
		if same := SameIdentity(id, id); same != (want == "" && id != "") {
			t.Errorf("%q is itself: %t", id, same)
		}
	}
	for name, tc := range map[string]struct{ uuid, machineID, want string }{
		"nothing":                     {"", "", ""},
		"of a machine with firmware":  {uuid, "0f1e2d3c4b5a69788796a5b4c3d2e1f0", ""},
		"a machine-id in disguise":    {"4C4C4544-0043-3010-8052-B4C04F564231", "4c4c4544004330108052b4c04f564231", "is the node's machine-id, and no UUID of its firmware"},
		"a machine-id as it is":       {"4c4c4544004330108052b4c04f564231", "4c4c4544004330108052b4c04f564231", "is the node's machine-id, and no UUID of its firmware"},
		"a serial number":             {"IBM,0221D2A5A", "", "is no UUID"},
		"of a node without a machine": {uuid, "", ""},
		"a default":                   {"03000200-0400-0500-0006-000700080009", "03000200040005000006000700080009", shared},
	} {
		if d := cmp.Diff(tc.want, SystemUUIDFault(tc.uuid, tc.machineID)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestMachineKey: two spellings of one machine have one key, and machines of the same bytes in
// another order have not.
func TestMachineKey(t *testing.T) {
	const uuid = "00112233-4455-6677-8899-aabbccddeeff"
	for _, same := range []string{
		"00112233445566778899AABBCCDDEEFF", "33221100-5544-7766-8899-aabbccddeeff",
		"ffeeddcc-bbaa-9988-7766-554433221100", "ccddeeff-aabb-8899-7766-554433221100",
	} {
		if !SameIdentity(uuid, same) || MachineKey(uuid) != MachineKey(same) {
			t.Errorf("%s: %s, want %s", same, MachineKey(same), MachineKey(uuid))
		}
	}
	if MachineKey(uuid) == MachineKey("10012233-4455-6677-8899-aabbccddeeff") || MachineKey("SN-7") != MachineKey(" sn-7") {
		t.Error("the keys do not tell machines apart")
	}
}

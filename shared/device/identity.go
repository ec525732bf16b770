package device

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
)

// SameIdentity reports whether two machine identities name one machine. UUIDs are compared
// as bytes, in each order in which firmware is known to write them: as printed, with the
// first three fields little-endian (SMBIOS), and wholly reversed (IPMI 2.0, 20.8). Other
// identities are compared as text without regard to case. An empty identity matches
// nothing, and neither does a UUID that is no machine's own (IdentityFault).
func SameIdentity(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == "" || b == "" {
		return false
	}
	x, xok := uuidBytes(a)
	y, yok := uuidBytes(b)
	if !xok || !yok {
		return strings.EqualFold(a, b)
	}
	if faultOf(x) != "" {
		return false
	}
	// The last two are each other's inverse: with only one of them the answer would depend
	// on which of the two identities comes first.
	for _, v := range [][]byte{y, smbios(y), reversed(y), smbios(reversed(y)), reversed(smbios(y))} {
		if slices.Equal(x, v) {
			return true
		}
	}
	return false
}

// defaults are UUIDs that makers left in many boards, as their vendors and lists of inventory
// programs report them. The order of the bytes does not matter.
var defaults = func() map[string]bool {
	all := map[string]bool{}
	for _, id := range []string{
		"00010203-0405-0607-0809-0a0b0c0d0e0f",
		"00020003-0004-0005-0006-000700080009",
		"01020304-0506-0708-090a-0b0c0d0e0f10",
		"03000200-0400-0500-0006-000700080009",
		"07090201-0103-0301-0807-060504030201",
		"12345678-1234-5678-1234-567812345678",
		"12345678-1234-5678-90ab-cddeefaabbcc",
		"4c4c4544-0000-1010-8010-c4c04f313233",
		"4c4c4544-0000-2010-8020-80c04f202020",
		"890e2d14-cacd-45d1-ae66-bc80e8bfeb0f",
		"8e275844-178f-44a8-aceb-a7d7e5178c63",
		"dc698397-fa54-4cf2-82c8-b1b5307a6a7f",
		"deadbeef-dead-beef-dead-beefdeadbeef",
		"ffffff00-ffff-ffff-ffff-ffffffffffff",
	} {
		all[MachineKey(id)] = true
	}
	return all
}()

// IdentityFault says why an identity is no machine's own, to follow the identity in a
// sentence; empty if nothing is known against the identity. An empty identity has no fault.
func IdentityFault(id string) string {
	if raw, ok := uuidBytes(strings.TrimSpace(id)); ok {
		return faultOf(raw)
	}
	return ""
}

// SystemUUIDFault is IdentityFault for the system UUID that a kubelet reports. The UUID of a
// machine's firmware has the form of a UUID, and differs from the machine-id of the operating
// system, which a kubelet reports where the machine has no SMBIOS. An empty UUID has no fault.
func SystemUUIDFault(id, machineID string) string {
	id = strings.TrimSpace(id)
	raw, ok := uuidBytes(id)
	switch {
	case id == "":
		return ""
	case !ok:
		return "is no UUID"
	case faultOf(raw) != "":
		return faultOf(raw)
	}
	if m, ok := uuidBytes(strings.TrimSpace(machineID)); ok && slices.Equal(raw, m) {
		return "is the node's machine-id, and no UUID of its firmware"
	}
	return ""
}

func faultOf(raw []byte) string {
	switch {
	case unset(raw):
		return "is what firmware writes where none was set"
	case repeatsByte(raw) || allSet(raw[6:]) || defaults[hex.EncodeToString(leastOf(byteOrders(raw)))]:
		return "is a factory default that many machines have"
	}
	return ""
}

// repeated: every byte is the same.
func repeatsByte(u []byte) bool {
	return !slices.ContainsFunc(u, func(b byte) bool { return b != u[0] })
}

// allSet: every byte is ff, as in the last ten bytes of the defaults of some boards.
func allSet(u []byte) bool { return repeatsByte(u) && u[0] == 0xff }

// MachineKey is equal for any two identities that SameIdentity takes for one machine. Of a
// UUID it is the least of all byte orders that swapping and reversing lead to: SameIdentity
// does not try all of them, so that two UUIDs which it tells apart may still have one key.
func MachineKey(id string) string {
	id = strings.TrimSpace(id)
	if raw, ok := uuidBytes(id); ok {
		return hex.EncodeToString(leastOf(byteOrders(raw)))
	}
	return IdentityKey(id)
}

// byteOrders are all spellings of a UUID that reversing it, and its first three fields, lead to.
func byteOrders(raw []byte) [][]byte {
	all := [][]byte{raw}
	for i := 0; i < len(all); i++ {
		for _, u := range [][]byte{smbios(all[i]), reversed(all[i])} {
			if !slices.ContainsFunc(all, func(o []byte) bool { return slices.Equal(o, u) }) {
				all = append(all, u)
			}
		}
	}
	return all
}

func leastOf(all [][]byte) []byte { return slices.MinFunc(all, slices.Compare[[]byte]) }

// IdentityKey is equal for any two identities that SameIdentity takes for one machine, and
// may be equal for others too: of a UUID it has the bytes in no order.
func IdentityKey(id string) string {
	id = strings.TrimSpace(id)
	if raw, ok := uuidBytes(id); ok {
		slices.Sort(raw)
		return hex.EncodeToString(raw)
	}
	return strings.Map(func(r rune) rune {
		first := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			first = min(first, f)
		}
		return first
	}, id)
}

func uuidBytes(s string) ([]byte, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return raw, err == nil && len(raw) == 16
}

func unset(u []byte) bool {
	return repeatsByte(u) && (u[0] == 0 || u[0] == 0xff)
}

func smbios(u []byte) []byte {
	v := slices.Clone(u)
	slices.Reverse(v[0:4])
	slices.Reverse(v[4:6])
	slices.Reverse(v[6:8])
	return v
}

func reversed(u []byte) []byte {
	v := slices.Clone(u)
	slices.Reverse(v)
	return v
}

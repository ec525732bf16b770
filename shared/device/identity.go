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
// nothing, and neither does a UUID whose bytes are all 0 or all ff: firmware writes those
// for a UUID that is not set.
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
	if unset(x) {
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
	return !slices.ContainsFunc(u, func(b byte) bool { return b != u[0] }) && (u[0] == 0 || u[0] == 0xff)
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

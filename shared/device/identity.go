package device

import (
	"encoding/hex"
	"slices"
	"strings"
)

// SameIdentity tells whether two machine identities name one machine. UUIDs are
// compared as bytes and in each of the orders in which firmware is known to
// write them: as printed, with the first three fields little-endian (SMBIOS),
// and wholly reversed (IPMI 2.0, 20.8). Anything else is compared as text
// without regard to case. Empty is the same as nothing.
func SameIdentity(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, xok := uuidBytes(a)
	y, yok := uuidBytes(b)
	if !xok || !yok {
		return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
	}
	for _, v := range [][]byte{y, smbios(y), reversed(y), smbios(reversed(y))} {
		if slices.Equal(x, v) {
			return true
		}
	}
	return false
}

func uuidBytes(s string) ([]byte, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s), "-", ""))
	return raw, err == nil && len(raw) == 16
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

package device

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

// UUID returns a machine's UUID in one spelling, in lower case and with dashes, for a
// parameter that names a machine by it. It does not change the order of the bytes. It
// refuses the UUIDs that firmware writes if none was set. Errors name the parameter.
func UUID(param, s string) (string, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	if !uuidText.MatchString(text) {
		return "", fmt.Errorf("%s %q is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff", param, s)
	}
	raw, _ := uuidBytes(text) // the pattern matched
	if unset(raw) {
		return "", fmt.Errorf("%s %q is what firmware writes where none was set", param, s)
	}
	return printed(raw), nil
}

func printed(raw []byte) string {
	h := hex.EncodeToString(raw)
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// FirmwareUUID converts the bytes that firmware sends to a UUID, written as in a Node's
// systemUUID; empty for a UUID that was never set. The bytes may be in one of three orders,
// and do not say in which. The first order is used in which they are a UUID of a known
// version: that of SMBIOS, which most firmware has, then as printed, then reversed. If no
// order fits, or two do, the result may be wrong: compare it only with SameIdentity.
func FirmwareUUID(raw [16]byte) string {
	if unset(raw[:]) {
		return ""
	}
	for _, u := range [][]byte{smbios(raw[:]), raw[:], reversed(raw[:])} {
		if version := u[6] >> 4; version >= 1 && version <= 5 && u[8]>>6 == 2 {
			return printed(u)
		}
	}
	return printed(smbios(raw[:]))
}

package device

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

// UUID is one spelling of a machine's UUID, for a parameter that names a machine
// by it: in lower case, with dashes. The order of its bytes is left alone. One
// that firmware writes where none was set names nobody. Errors speak of the
// parameter.
func UUID(param, s string) (string, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	if !uuidText.MatchString(text) {
		return "", fmt.Errorf("%s %q is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff", param, s)
	}
	raw, _ := uuidBytes(text) // it matched
	if unset(raw) {
		return "", fmt.Errorf("%s %q is what firmware writes where none was set", param, s)
	}
	return printed(raw), nil
}

func printed(raw []byte) string {
	h := hex.EncodeToString(raw)
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// FirmwareUUID is a UUID from the bytes that firmware sends, written as a Node's
// systemUUID has it; empty for one that was never set. The bytes do not say in which of
// three orders they are, so that the first one counts in which they are a UUID of a known
// version: that of SMBIOS, which most firmware has, as printed, and reversed. Where none is,
// or two are, it may be wrong: hold it against another with SameIdentity only.
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

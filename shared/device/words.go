package device

import (
	"strings"

	"github.com/nodefence/nodefence/shared/clip"
)

// Line returns the first bytes of a foreign text as one line: the text may be written into
// a record, and may say anything.
func Line(s string, most int) string {
	return clip.To(most, strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
}

// Redacted removes these secrets from a text (S29: no secret is shown). A secret that is a
// part of another is removed after that one.
func Redacted(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "(redacted)")
		}
	}
	return s
}

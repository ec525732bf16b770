package device

import (
	"strings"

	"github.com/nodefence/nodefence/shared/clip"
)

// Line is one line of a foreign text, and no more of it than so many bytes: it may
// come to stand in a record, and say anything.
func Line(s string, most int) string {
	return clip.To(most, strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
}

// Redacted is a text without these secrets (S29). One that is a part of another comes
// after that.
func Redacted(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "(redacted)")
		}
	}
	return s
}

package clip

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTo: what fits stays as it is, and what does not is a valid text of at most so many bytes.
func TestTo(t *testing.T) {
	for text, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "12345…", "ääää": "ääää", "äääää": "ää…"} {
		if got := To(8, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for longest := range 40 {
		got := To(longest, strings.Repeat("aä€", 9))
		if longest >= len(sign) && len(got) > longest || !utf8.ValidString(got) {
			t.Errorf("%d: %q", longest, got)
		}
	}
}

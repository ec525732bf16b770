package device

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"one line":              {"all is well", "all is well"},
		"several":               {" a\n\tb \r\nc ", "a b c"},
		"no UTF-8":              {"a\xffb", "a?b"},
		"as long as may be":     {strings.Repeat("ä", 6), strings.Repeat("ä", 6)},
		"longer, between runes": {strings.Repeat("ä", 7), strings.Repeat("ä", 4) + "…"},
	} {
		if got := Line(c.text, 12); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRedacted(t *testing.T) { // S29
	if got, want := Redacted("hunter-2 is hunter, nothing else", "hunter-2", "", "hunter"), "(redacted) is (redacted), nothing else"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

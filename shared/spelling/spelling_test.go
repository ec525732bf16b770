package spelling

import "testing"

func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want int
	}{
		"the same":          {"node-7", "node-7", 0},
		"nothing":           {"", "", 0},
		"all added":         {"", "off", 3},
		"all left out":      {"off", "", 3},
		"one changed":       {"fence", "fense", 1},
		"one left out":      {"fence", "fenc", 1},
		"two that change":   {"node-12", "node-21", 2},
		"some of each kind": {"kitten", "sitting", 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got, back := Apart(c.a, c.b), Apart(c.b, c.a); got != c.want || back != c.want {
				t.Errorf("%q and %q are %d and %d apart, want %d", c.a, c.b, got, back, c.want)
			}
		})
	}
}

func TestNear(t *testing.T) {
	known := []string{"password", "passwd", "ip", "plug", "ipport"}
	for name, c := range map[string]struct{ word, want string }{
		"a letter left out":          {"pasword", "password"},
		"two that change places":     {"pulg", "plug"},
		"the nearer one":             {"passwdd", "passwd"},
		"a short one, by a letter":   {"op", "ip"},
		"a short one, by two":        {"xy", ""},
		"nothing like it":            {"community", ""},
		"a word is not its own":      {"plug", ""},
		"an empty word is no word's": {"", ""},
	} {
		if got := Near(c.word, known); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nodefence/nodefence/shared/spelling"
)

// place is the place of a line or value.
type place struct {
	cm, key string
	line    int
}

func (p place) errorf(format string, args ...any) error {
	return &Error{ConfigMap: p.cm, Key: p.key, Line: p.line, Msg: fmt.Sprintf(format, args...)}
}

// String is the place in words.
func (p place) String() string {
	return strings.TrimSuffix((&Error{ConfigMap: p.cm, Key: p.key, Line: p.line}).Error(), ": ")
}

// wrap adds the place to an error.
func (p place) wrap(err error) error {
	return &Error{ConfigMap: p.cm, Key: p.key, Line: p.line, Msg: err.Error(), kind: err}
}

// entry is one line.
type entry struct {
	// name is canonical; written is the name in the ConfigMap, with "_" for "-".
	name, written, value string
	at                   place
	// own: the ConfigMap is about this one node.
	own bool
}

// norm makes "-" and "_" the same.
func norm(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "-", "_") }

// parse reads key=value lines. An error names a bad line by its number and does not quote
// it: a torn line may be the rest of a password (S29: no secret is shown).
func parse(at place, text string, canonical func(string) string) (map[string]entry, error) {
	out := map[string]entry{}
	for i, l := range strings.Split(text, "\n") {
		at.line = i + 1
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		k, v, found := strings.Cut(l, "=")
		written := norm(k)
		if !found || written == "" {
			return nil, at.errorf("not a key=value line")
		}
		e := entry{name: canonical(written), written: written, value: strings.TrimSpace(v), at: at}
		if was, twice := out[e.name]; twice {
			return nil, at.errorf("%s is given twice; it stands in line %d already%s", shown(written), was.at.line, spelt(was, e))
		}
		out[e.name] = e
	}
	return out, nil
}

func spelt(was, now entry) string {
	if was.written == now.written {
		return ""
	}
	return " as " + shown(was.written)
}

// shown quotes a name if it can be a name; anything else may be a piece of a secret that
// was broken over two lines.
func shown(name string) string {
	if len(name) > 40 {
		return "this key"
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return "this key"
		}
	}
	return `"` + name + `"`
}

// meantBy says what a word was probably meant to be, for use before the list of known
// words.
func meantBy(word string, known []string) string {
	if n := spelling.Near(word, known); n != "" {
		return "did you mean " + n + "? "
	}
	return ""
}

// check refuses values that other programs would read differently.
func check(e entry, secret bool) error {
	if e.value == "" {
		return e.at.errorf("%s has no value", shown(e.written))
	}
	if dirty(e.value) {
		return e.at.errorf("the value of %s has control characters or is not UTF-8", shown(e.written))
	}
	if !secret && commented(e.value) {
		return e.at.errorf("the value of %s has a # in it; put a comment on a line of its own", shown(e.written))
	}
	return nil
}

func dirty(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}

func commented(s string) bool {
	return strings.HasPrefix(s, "#") || strings.Contains(s, " #")
}

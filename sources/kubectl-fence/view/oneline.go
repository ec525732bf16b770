package view

import (
	"strings"
	"unicode"

	"github.com/nodefence/nodefence/events"
)

// OneLine is a text as it may stand in a line on a terminal. Others may have written it (the reason of a
// request, a device's answer): what could begin another line, such as one of a proof, steer the terminal, or turn
// the order of what follows, is a blank.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, events.Printable(s))
}

// Lines are these sentences, each in a line of its own.
func Lines(says []string) string {
	var b strings.Builder
	for _, s := range says {
		b.WriteString(OneLine(s) + "\n")
	}
	return b.String()
}

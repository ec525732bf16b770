package view

import (
	"strings"

	"github.com/nodefence/nodefence/events"
)

// OneLine is a text as it may stand in a line on a terminal. Others may have written it (the reason of a
// request, a device's answer): its control characters, which could begin another line, such as one of a proof,
// or steer the terminal, are blanks.
func OneLine(s string) string { return events.Printable(s) }

// Lines are these sentences, each in a line of its own.
func Lines(says []string) string {
	var b strings.Builder
	for _, s := range says {
		b.WriteString(OneLine(s) + "\n")
	}
	return b.String()
}

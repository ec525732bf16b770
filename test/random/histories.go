// Package random says how many random histories a test goes through.
package random

import "os"

// every is the environment variable that asks for all histories; it may have any text.
const every = "NODEFENCE_ALL_HISTORIES"

// Histories is how many of a test's random histories are gone through: all of them where the
// environment asks for all, as CI does, otherwise a tenth, and at least one.
func Histories(all int) int {
	if os.Getenv(every) != "" {
		return all
	}
	return max(1, all/10)
}

// Package clip shortens texts that somebody else wrote to what the place where they go can
// take. No letter is cut in two: an API server refuses half a letter, and with it the whole
// write.
package clip

import "strings"

// sign ends a text of which something is left out.
const sign = "…"

// To is a text of at most so many bytes, which end with a sign where something is left out.
func To(longest int, text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, longest-len(sign))], "") + sign
}

// MessageBytes bounds a message of the API, as its schemas do.
const MessageBytes = 1024

// Message is a text that fits as a message of the API.
func Message(text string) string { return To(MessageBytes, text) }

// NameBytes bounds the names of most objects, UIDBytes a UID that somebody else writes.
const NameBytes, UIDBytes = 253, 64

// Package clip shortens texts that somebody else wrote to the length that their destination
// accepts. It never cuts a letter in two: an API server refuses half a letter, and with it
// the whole write.
package clip

import "strings"

// sign marks the place where something was left out.
const sign = "…"

// To returns a text of at most so many bytes. If something was left out, it ends with a
// sign.
func To(longest int, text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, longest-len(sign))], "") + sign
}

// MessageBytes bounds a message of the API, as its schemas do.
const MessageBytes = 1024

// Message shortens a text to the length of a message of the API.
func Message(text string) string { return To(MessageBytes, text) }

// NameBytes bounds the names of most objects; UIDBytes bounds a UID that somebody else
// writes.
const NameBytes, UIDBytes = 253, 64

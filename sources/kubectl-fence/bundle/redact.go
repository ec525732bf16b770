package bundle

import "regexp"

// Redacted stands where a value was taken out.
const Redacted = "(redacted)"

// patterns are what looks like a credential. The first group stays, and so does the last.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*-----).*?(-----END [A-Z ]*-----)`),
	regexp.MustCompile(`(?i)\b((?:bearer|basic) )[A-Za-z0-9+/._~=-]{8,}()`),
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*()`),
	regexp.MustCompile(`(://)[^\s/:@"']+:[^\s/@"']+(@)`),
	regexp.MustCompile(`(?i)((?:pass(?:word|wd|phrase)?|passwd|pwd|token|community|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|credentials?|authorization)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;}]+()`),
}

// Redact takes whatever looks like a credential out of a text.
func Redact(text []byte) []byte {
	for _, p := range patterns {
		text = p.ReplaceAll(text, []byte("${1}"+Redacted+"${2}"))
	}
	return text
}

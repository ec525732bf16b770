package bundle

import (
	"bytes"
	"regexp"
)

// Redacted stands where a value was taken out.
const Redacted = "(redacted)"

const (
	// keyword is a word of which the value is a credential, as the end of a name or with a number or
	// a further word after it.
	keyword = `(?:pass(?:word|wd|phrase|code)?|passwd|pwd|token|community|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|client[_-]?secret|session|cookie|signature|credentials?|authorization)(?:[_.-]\w+|\d+)*`
	// is stands between a name and its value, in YAML, JSON, JSON within JSON, and shell.
	is = `\\?["']?[ \t]*[:=][ \t]*`
	// flag stands between a flag and its value; they may be two elements of a list.
	flag = `\\?["']?(?:[ \t]*,[ \t]*|[ \t]*\n[ \t]*-[ \t]+|[ \t=]+)`
	// pair stands between the name and the value of two fields, name and value.
	pair = `\\?["']?\s*,?\s*\\?["']?value\\?["']?[ \t]*:[ \t]*`
	name = `\bname\\?["']?[ \t]*:[ \t]*\\?["']?[\w.-]*`
)

// values are how a value is written after what stands before it: in quotes, to the closing one; or
// without.
func values(before, bare string) []*regexp.Regexp {
	before = `(?i)((?:` + before + `)`
	return []*regexp.Regexp{
		regexp.MustCompile(before + `\\")(?:[^"\\\n]|\\[^"\n])*(\\")`),
		regexp.MustCompile(before + `")(?:[^"\\\n]|\\.)*("?)`),
		regexp.MustCompile(before + `')(?:[^'\n]|'')*('?)`),
		regexp.MustCompile(before + `)` + bare + `()`),
	}
}

const (
	toEnd   = `[^\s"'\\|>][^\n]*`
	toBlank = `[^\s"'\\][^\s]*`
)

// patterns are what looks like a credential. The first group stays, and so does the last.
var patterns = join(
	[]*regexp.Regexp{
		regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*-----).*?(-----END [A-Z ]*-----)`),
		regexp.MustCompile(`(?i)\b((?:bearer|basic) )[A-Za-z0-9+/._~=-]{8,}()`),
		regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*()`),
		regexp.MustCompile(`()\bA(?:KIA|SIA)[A-Z0-9]{16}\b()`),
		regexp.MustCompile(`(://)\S*(@)`),
		regexp.MustCompile(`(\bsig=)[^\s&]+()`),
		regexp.MustCompile(`(?m)((?:^|[\s"'])-[pP][ \t]+["']?)[^\s"']+()`),
		regexp.MustCompile(`(?m)((?:^|[\s"'])(?:-u|--user)[ \t=]+["']?[^\s:"']+:)[^\n]+?(["']?(?:\s|$))`),
		// A Secret's name is harmless; what cannot be one, as of its capitals, may be its value.
		regexp.MustCompile(`((?i:\bsecret` + is + `)\\?["']?)[a-z0-9./-]*[^a-z0-9./\s"'\\,;})({\[-][^\n"]*()`),
	},
	values(keyword+`\\?["']?[ \t]*:[ \t]*`, toEnd),
	values(keyword+`\\?["']?[ \t]*=[ \t]*`, toBlank),
	values(`--?[\w-]*`+keyword+flag, toBlank),
	values(name+keyword+pair, toEnd),
)

func join(all ...[]*regexp.Regexp) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, some := range all {
		out = append(out, some...)
	}
	return out
}

// block is the first line of a value of several lines. What is indented deeper is the value.
var block = regexp.MustCompile(`(?i)^( *(?:- )*)[^\n]*` + keyword + `["']?[ \t]*:[ \t]*[|>][0-9+-]*[ \t]*$`)

// Redact takes what looks like a credential out of a text.
func Redact(text []byte) []byte {
	text = blocks(text)
	for _, p := range patterns {
		text = p.ReplaceAll(text, []byte("${1}"+Redacted+"${2}"))
	}
	return text
}

// blocks takes out values of several lines.
func blocks(text []byte) []byte {
	var out [][]byte
	in, depth := false, 0
	for _, line := range bytes.Split(text, []byte("\n")) {
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		if in && (indent > depth || len(bytes.TrimSpace(line)) == 0) {
			continue
		}
		in = false
		out = append(out, line)
		if m := block.FindSubmatch(line); m != nil {
			in, depth = true, len(m[1])
			out = append(out, []byte(string(bytes.Repeat([]byte(" "), depth+2))+Redacted))
		}
	}
	return bytes.Join(out, []byte("\n"))
}

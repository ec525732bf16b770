package agent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// kinds are the messages of agents, in the order in which they are looked for. Exit codes tell
// nothing: there are only 0, 1 and 2.
var kinds = []struct {
	kind  error
	words *regexp.Regexp
}{
	{device.ErrDenied, anyOf(
		"correct privileges", "permission denied", "access denied", "not authorized", "unauthorized", "forbidden", "login password",
		"login denied", "authentication", "authenticate", "authorization", "invalid credentials", "wrong password", "incorrect password",
		"bad username", "unknown user", "login name", "401", "403", "accessdenied", "access is denied",
	)},
	{device.ErrUnsupported, anyOf(
		"unrecognised action", "not supported", "unsupported", "not found or not accessible", "no module named", "unable to run",
		"command not found", "not an executable", "parse error", "valid choice", "cannot run command", "modulenotfounderror", "importerror",
		"not installed", "bad interpreter", "can't open file",
	)},
	{device.ErrUnreachable, anyOf(
		"connection lost", "timed out", "timeout", "no route", "refused", "unreachable", "could not resolve", "couldn't resolve",
		"name or service not known", "name resolution", "failed to establish", "connection failed", "connection error", "no response",
		"unable to connect", "reset by peer", "broken pipe", "end of file", "unable to establish", "max retries",
	)},
	{device.ErrUnknown, anyOf(
		"plug status", "plug is not available", "enter existing", "can't find port", "not found", "does not exist", "doesn't exist",
		"no such", "vm uuid", "no exceeds no of outlets", "404",
	)},
}

// explain turns the message of an agent that failed into one of the errors that every driver has.
func (d *driver) explain(action string, o outcome) error {
	said := words(o)
	if said == "" {
		said = fmt.Sprintf("it says nothing, and exits with %d", o.Code)
	}
	kind, low := device.ErrConflict, strings.ToLower(said)
	for _, k := range kinds {
		if k.words.MatchString(low) {
			kind = k.kind
			break
		}
	}
	if kind == device.ErrUnknown && !d.outlets() {
		// A device with one machine can't fail to know its machine: it did not tell, most often
		// because it does not answer.
		kind = device.ErrUnreachable
	}
	return d.errorf(kind, action, said)
}

// anyOf finds one of these as whole words.
func anyOf(these ...string) *regexp.Regexp {
	for i, w := range these {
		these[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(`\b(` + strings.Join(these, "|") + `)\b`)
}

// stamp is the prefix of an agent's messages.
var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (CRITICAL|ERROR|WARNING|INFO|DEBUG): `)

// words are an agent's own messages about its failure, without those of its language and its
// libraries.
func words(o outcome) string {
	from := o.Stderr
	if len(strings.TrimSpace(string(from.Data))) == 0 {
		from = o.Stdout
	}
	if from.Cut { // the rest of the last line may begin with a part of a secret
		from.Data = from.Data[:bytes.LastIndexByte(from.Data, '\n')+1]
	}
	var out []string
	for l := range strings.Lines(string(from.Data)) {
		indented := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		l = stamp.ReplaceAllString(strings.TrimSpace(l), "")
		switch {
		case l == "", indented, strings.HasPrefix(l, "Please use '-h'"), strings.HasPrefix(l, "Traceback"), strings.Contains(l, "Warning: "):
		default:
			out = append(out, l)
		}
	}
	return strings.Join(out, "; ")
}

// most is how much of an agent's output is kept.
const most = 240

// scrub removes the secrets, as they are and as programs write them (S29).
func (d *driver) scrub(s string) string {
	for name, v := range d.params {
		if !secret(name) {
			continue
		}
		s = device.Redacted(s, spellings(v, d.params["username"])...)
	}
	return s
}

// spellings are sorted with the longest first, because one may be a part of another.
func spellings(v, user string) []string {
	quoted, _ := json.Marshal(v)
	all := []string{
		v, strings.TrimSuffix(string(quoted[1:]), `"`), strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v), html.EscapeString(v), url.QueryEscape(v), url.PathEscape(v),
		strings.ReplaceAll(v, "'", `'"'"'`), strings.ReplaceAll(v, "'", `'\''`), strings.ReplaceAll(v, "'", `\'`), strings.ReplaceAll(v, `\`, `\\`),
		base64.StdEncoding.EncodeToString([]byte(v)), base64.StdEncoding.EncodeToString([]byte(user + ":" + v)),
		strings.Join(strings.Fields(v), " "),
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

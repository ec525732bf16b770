package agent

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nodefence/nodefence/shared/device/host"
)

// check compares parameters with what the agent declares, and returns them by their one name. It
// does not look for missing ones.
func (m *metadata) check(in map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, given := range slices.Sorted(maps.Keys(in)) {
		name, value := norm(given), in[given]
		if newer := m.older[name]; newer != "" {
			name = newer
		}
		why := m.denied(name)
		p, known := m.param(name)
		switch {
		case name == "method" && strings.EqualFold(value, "onoff"):
			continue // that is the agent's default
		case why != "":
			return nil, fmt.Errorf("parameter %s of agent %s is refused: %s", shown(given), m.agent, why)
		case !known || !m.takes(p):
			return nil, fmt.Errorf("unknown parameter %s of agent %s; known are %s", shown(given), m.agent, strings.Join(m.names(), ", "))
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("parameter %s of agent %s is given twice, in two spellings", name, m.agent)
		}
		if err := m.value(p, value); err != nil {
			return nil, fmt.Errorf("parameter %s of agent %s: %w", name, m.agent, err)
		}
		out[name] = value
	}
	return out, nil
}

// names are the parameters that may be given.
func (m *metadata) names() []string {
	var out []string
	for _, p := range m.params {
		if m.takes(p) {
			out = append(out, p.name)
		}
	}
	slices.Sort(out)
	return out
}

// takes tells whether a parameter may be given. A plug that has a meaning only together with
// port_as_ip may not.
func (m *metadata) takes(p param) bool {
	return m.denied(p.name) == "" && (p.name != "plug" || m.outlets())
}

// value refuses a value that the agent would read as something else. It does not show secrets.
func (m *metadata) value(p param, v string) error {
	switch {
	case v == "":
		return errors.New("it has no value")
	case !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl):
		// A line break would begin another parameter.
		return errors.New("the value has a line break or another control character")
	case strings.TrimSpace(v) != v:
		return errors.New("the value begins or ends with a blank, which agents drop")
	case strings.HasPrefix(v, `"`) && strings.HasSuffix(v, `"`):
		return errors.New("the value stands in quotation marks, which agents drop")
	case len(v) > 4096:
		return errors.New("the value is longer than 4096 bytes")
	case secret(p.name):
		return nil
	case p.name == "key" && m.keyed():
		return keyValue(v)
	case p.name == "devices" && m.keyed():
		return disks(v)
	}
	if err := typed(p, v); err != nil {
		return err
	}
	return m.plain(p.name, v)
}

// freely are the agents whose machines have names that people choose, and that quote those names.
var freely = named("xenapi")

// plain refuses values that a later program would read as something else: a shell, an option
// parser, a query or a URL.
func (m *metadata) plain(name, v string) error {
	i := strings.IndexFunc(v, special)
	odd, _ := utf8.DecodeRuneInString(v[max(i, 0):])
	machine := name == "plug" || name == "systems_uri" || name == "switch" || name == "target"
	switch {
	case strings.Contains(v, "://") && strings.Contains(v, "@"):
		return errors.New("it is a URL with a credential in it, which belongs into a Secret")
	case strings.HasPrefix(v, "-"):
		return fmt.Errorf("%q begins like an option", v)
	case machine && strings.Contains(v, ","):
		return fmt.Errorf("%q is more than one machine", v)
	case machine && strings.ContainsAny(v, "*?%"):
		return fmt.Errorf("%q may be read as a pattern, and choose another machine", v)
	case name == "plug" && m.agent == "fence_cdu" && strings.Contains(v, ":"):
		return fmt.Errorf("%q has a switch, which has no effect on what the agent reads", v)
	case name == "systems_uri" && (!strings.HasPrefix(v, "/") || path.Clean(v) != strings.TrimSuffix(v, "/")):
		return fmt.Errorf("%q is not a path such as /redfish/v1/Systems/1", v)
	case name == "api_path" && !strings.HasPrefix(v, "/"):
		return fmt.Errorf("%q does not begin with a slash, and would make another host of the URL that it is put into", v)
	case name == "region" && !host.Single(v):
		return fmt.Errorf("%q is no region's name, and would make another host of the URL that it is put into", v)
	case i >= 0 && (m.commands() || machine && !freely[m.agent]):
		return fmt.Errorf("%q has %q in it, which the agent may take for something else", v, odd)
	}
	return nil
}

// commands tells whether the agent puts values into command lines.
func (m *metadata) commands() bool {
	return slices.ContainsFunc(m.params, func(p param) bool {
		return strings.HasSuffix(p.name, "_path") && p.name != "api_path" && p.name != "gnutlscli_path"
	})
}

// special has the characters that shells, and programs that split words as they do, treat
// specially.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:/@%+=,~-", r)
}

func typed(p param, v string) error {
	switch p.kind {
	case "integer", "second":
		if n, err := strconv.Atoi(v); err != nil || n < 0 {
			return fmt.Errorf("%q is not a number", v)
		}
	case "boolean":
		if _, ok := boolean(v); !ok {
			return fmt.Errorf("%q is not a yes or a no", v)
		}
	case "select":
		if !slices.ContainsFunc(p.options, func(o string) bool { return strings.EqualFold(o, v) }) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(p.options, ", "))
		}
	}
	return nil
}

func boolean(v string) (yes, ok bool) {
	switch strings.ToLower(v) {
	case "1", "yes", "on", "true":
		return true, true
	case "0", "no", "off", "false":
		return false, true
	}
	return false, false
}

// secret tells by its name whether a parameter is a secret. A parameter that is taken for a
// secret and is none does no harm.
func secret(name string) bool {
	for _, part := range []string{"passw", "secret", "token", "apikey", "api_key", "access_key", "community", "hexadecimal_kg", "private_key", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// shown is a name if it can be one; anything else may be a piece of a secret that was broken over
// two lines.
func shown(name string) string {
	if len(name) > 40 || strings.ContainsFunc(name, special) {
		return "(not shown)"
	}
	return name
}

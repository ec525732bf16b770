package agent

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
)

// effect is how long a device may take to do what it has accepted. PDUs can be set to wait; a
// longer delay is useless for fencing.
const effect = 30 * time.Second

// Kind makes a driver of an agent in a folder that switches machines' power.
func Kind(name, dir string) (device.Kind, error) {
	m, err := known(name, dir)
	if err == nil && m.fabric {
		err = fmt.Errorf("agent %s is refused: %w", m.agent, device.ErrFabric)
	}
	if err != nil {
		return device.Kind{}, err
	}
	return m.kind()
}

// Any makes a driver of any agent in a folder, also of one that cuts machines off from storage or
// network, as its Scope says.
func Any(name, dir string) (device.Kind, error) {
	m, err := known(name, dir)
	if err != nil {
		return device.Kind{}, err
	}
	return m.kind()
}

func known(name, dir string) (*metadata, error) {
	name = norm(name)
	if why := unfit[name]; why != "" {
		return nil, refused(name, why)
	}
	return find(name, dir)
}

// kind has the parameters that the agent itself declares, except those that are denied.
func (m *metadata) kind() (device.Kind, error) {
	if err := m.fit(); err != nil {
		return device.Kind{}, err
	}
	return device.Kind{
		Name: m.agent, Params: m.declare(), EffectDelay: effect, Scope: m.scope(), NoOn: m.noOn(),
		Address: m.address, Hosts: m.hosts, Denied: m.why, Open: m.open,
	}, nil
}

// why tells why a parameter is refused; empty if it is not, or if it may be left out without
// harm.
func (m *metadata) why(param string) string {
	name := norm(param)
	if newer := m.older[name]; newer != "" {
		name = newer
	}
	why := m.denied(name)
	if why == "" || why == ours || !m.has(name) {
		return ""
	}
	return fmt.Sprintf("parameter %s of agent %s is refused: %s", shown(param), m.agent, why)
}

// declare says which parameters there are.
func (m *metadata) declare() []device.Param {
	var out []device.Param
	for _, p := range m.params {
		if !m.takes(p) {
			continue
		}
		d := device.Param{Name: p.name, Required: p.required && p.usual == "", Secret: secret(p.name), Machine: m.chooses(p.name), Doc: p.doc}
		if p.name == "ip" && !d.Machine {
			// It is not marked as required. Otherwise it might be looked for in a Secret, and
			// could not be part of the address.
			d.Required = false
		}
		if m.required(p.name) {
			d.Required = true
		}
		out = append(out, d)
	}
	return out
}

// chooses tells whether a parameter says which machine is meant (S11).
func (m *metadata) chooses(name string) bool {
	switch name {
	case "plug", "switch", "systems_uri", "target", "key":
		return true
	case "ip", "ipport":
		return !m.outlets()
	}
	return false
}

// required are parameters without which an agent guesses.
func (m *metadata) required(name string) bool {
	if m.keyed() {
		return name == "key" || name == "devices"
	}
	return name == "ip" && !m.outlets() || name == "plug" && m.outlets() || name == "systems_uri"
}

// address is one spelling of the machine: the outlet of a device, or the device of one machine.
// It also checks all parameters that are not secret, because it is called when a configuration is
// read.
func (m *metadata) address(params map[string]string) (string, error) {
	p, err := m.check(params)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"plug", "key", "systems_uri"} {
		if m.has(name) && m.required(name) && p[name] == "" {
			return "", fmt.Errorf("parameter %s of agent %s is missing: it says which machine is meant", name, m.agent)
		}
	}
	at := m.agent
	if m.keyed() {
		// Without the disks: a key belongs to one machine, on any of them.
		return at + "#" + p["key"], nil
	}
	if m.has("ip") {
		if at, err = host.Name("ip", p["ip"]); err != nil {
			return "", fmt.Errorf("agent %s: %w", m.agent, err)
		}
	}
	if m.outlets() {
		// Without the port: a PDU has the same outlets by SNMP as by Telnet.
		return at + "#" + outlet(p["switch"], p["plug"]), nil
	}
	port, err := host.Port("ipport", p["ipport"], m.port(p))
	if err != nil {
		return "", fmt.Errorf("agent %s: %w", m.agent, err)
	}
	at = net.JoinHostPort(at, strconv.Itoa(port))
	for _, name := range []string{"target", "systems_uri"} {
		if p[name] != "" {
			at += "/" + strings.ToLower(strings.Trim(p[name], "/"))
		}
	}
	return at, nil
}

var uuidLike = regexp.MustCompile(`^(urn:)?(uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$`)

// outlet is one spelling of what agents read as the same: 03 as 3, and a UUID with or without its
// dashes. The first switch need not be named.
func outlet(bank, plug string) string {
	plug = strings.ToLower(plug)
	if u := uuidLike.FindStringSubmatch(plug); u != nil {
		return strings.Join(u[3:], "-")
	}
	if first, rest, ok := strings.Cut(plug, ":"); ok && bank == "" {
		bank, plug = first, rest
	}
	plug = plain(plug)
	if bank = plain(strings.ToLower(bank)); bank != "" && bank != "1" {
		plug = bank + ":" + plug
	}
	return plug
}

// plain removes the leading zeros of a number.
func plain(s string) string {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return s
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}

// port is the port that the agent's library uses if none is given.
func (m *metadata) port(p map[string]string) int {
	yes := func(name string) bool {
		q, ok := m.param(name)
		v, given := p[name]
		if !given {
			v = q.usual
		}
		is, _ := boolean(v)
		return ok && is
	}
	q, _ := m.param("ipport")
	if n, err := strconv.Atoi(q.usual); err == nil {
		return n
	}
	switch {
	case m.has("lanplus"):
		return 623
	case m.has("community"):
		return 161
	case yes("ssh"):
		return 22
	case yes("ssl"), yes("ssl_secure"), yes("ssl_insecure"):
		return 443
	case m.has("telnet_path"):
		return 23
	}
	return 80
}

// open makes a driver.
func (m *metadata) open(params map[string]string) (device.Driver, error) {
	at, err := m.address(params)
	if err != nil {
		return nil, err
	}
	p, err := m.check(params)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, d := range m.declare() {
		if d.Required && p[d.Name] == "" {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return nil, errors.New("agent " + m.agent + " needs " + strings.Join(missing, ", "))
	}
	return &driver{metadata: m, params: p, address: at}, nil
}

package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device/host"
)

// hosts are those that the agent may send credentials to: its device, and whatever else its
// parameters name as a host. For an agent that knows by itself where its API is, its own name
// stands for that host.
func (m *metadata) hosts(params map[string]string) ([]string, error) {
	p, err := m.check(params)
	if err != nil {
		return nil, err
	}
	var out []string
	own := true
	for _, name := range slices.Sorted(maps.Keys(p)) {
		v := p[name]
		if !namesHost(name) || secret(name) || strings.HasPrefix(v, "/") {
			continue
		}
		h := []string{v}
		if strings.Contains(v, "://") {
			h, err = host.Of(v)
		} else {
			h[0], err = host.Name(name, v)
		}
		if err != nil {
			return nil, fmt.Errorf("agent %s: parameter %s: %w", m.agent, name, err)
		}
		out = append(out, h...)
		own = own && strings.HasPrefix(name, "proxy") // a proxy is on the way to the host, and not the host
	}
	if own {
		out = append(out, m.agent)
	}
	return out, nil
}

// namesHost tells by its name whether a parameter is an address, a host or a URL.
func namesHost(name string) bool {
	switch name {
	case "ip", "proxy":
		return true
	}
	for _, part := range []string{"host", "url", "server", "endpoint", "addr"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

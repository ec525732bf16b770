package agent

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// list is what the agents of the version that was reviewed declare, and which of them are
// refused, one on each line.
//
//go:embed agents.txt
var list string

// Declared is Kind for an agent that runs on another machine. It uses the agent's metadata if the
// agent is also installed here, else the list of what agents declare. The list has the names of
// parameters and not their values, so the machine that runs the agent checks them again. Until
// then the driver only says what is missing, and can't be used.
func Declared(name, dir string) (device.Kind, error) {
	name = norm(name)
	if !agentName.MatchString(name) {
		return device.Kind{}, fmt.Errorf("%.80q is not the name of a fence agent, such as fence_apc", name)
	}
	if _, err := os.Stat(filepath.Join(dir, name)); dir != "" && err == nil {
		return Kind(name, dir)
	}
	for l := range strings.Lines(list) {
		l = strings.TrimSpace(l)
		if why, is := strings.CutPrefix(l, "agent "+name+" is refused: "); is {
			return device.Kind{}, refused(name, why)
		}
		if words, is := strings.CutPrefix(l, name+":"); is {
			if strings.HasSuffix(l, "("+string(device.ScopeStorage)+")") || strings.HasSuffix(l, "("+string(device.ScopeNetwork)+")") {
				return device.Kind{}, fmt.Errorf("agent %s is refused: %w", name, device.ErrFabric)
			}
			m := listed(name, strings.Fields(words))
			return device.Kind{
				Name: name, Params: m.declare(), EffectDelay: effect, Address: m.address, Hosts: m.hosts, Open: m.open,
				Denied: func(param string) string {
					if why := denied(name, norm(param)); why != "" && why != ours {
						return fmt.Sprintf("parameter %s of agent %s is refused: %s", shown(param), name, why)
					}
					return ""
				},
			}, nil
		}
	}
	return device.Kind{}, fmt.Errorf("agent %s is not known here: install it beside the functions as well, so that its parameters can be read (NODEFENCE_AGENTS_DIR)", name)
}

// listed is the part of the metadata that a line of the list has.
func listed(name string, words []string) *metadata {
	m := &metadata{agent: name, older: map[string]string{}, actions: []string{"off", "on", "status"}}
	for _, w := range words {
		w, _, _ = strings.Cut(w, "(")
		p, required := strings.CutSuffix(w, "!")
		m.params = append(m.params, param{name: p, word: p, required: required})
	}
	return m
}

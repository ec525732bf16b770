package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// bmc and pdu are drivers without devices.
func settings() Settings {
	bmc := device.Kind{
		Name: "bmc", EffectDelay: 10 * time.Second,
		Params: []device.Param{
			{Name: "ip", Required: true, Machine: true},
			{Name: "ipport", Machine: true, Default: "623"},
			{Name: "username", Required: true},
			{Name: "password", Required: true, Secret: true},
			{Name: "cipher", Default: "3"},
		},
		Address: func(p map[string]string) (string, error) {
			if strings.Contains(p["ip"], "/") {
				return "", errors.New("ip is not an address")
			}
			return p["ip"] + ":" + p["ipport"], nil
		},
	}
	pdu := device.Kind{
		Name:   "pdu",
		Params: []device.Param{{Name: "ip", Required: true}, {Name: "plug", Required: true, Machine: true}},
		Address: func(p map[string]string) (string, error) {
			return p["ip"] + "#" + p["plug"], nil
		},
	}
	return Settings{
		Kinds:   map[string]device.Kind{"bmc": bmc, "pdu": pdu},
		Agents:  map[string]string{"fence_bmc": "bmc", "fence_pdu": "pdu", "fence_gone": "gone"},
		Aliases: map[string]string{"ipaddr": "ip", "login": "username", "passwd": "password", "ipport": "ipport"},
	}
}

// finding has an agent of a fabric besides, of which there is no driver.
func finding(s Settings) Settings {
	s.Find = func(agent string) (device.Kind, error) {
		if agent == "fence_fc" {
			return device.Kind{}, fmt.Errorf("agent %s is refused: %w", agent, device.ErrFabric)
		}
		if agent == "fence_two" {
			return outlets(agent), nil
		}
		return device.Kind{}, device.NotInstalled("agent " + agent + " is not installed")
	}
	return s
}

// text is a value of several lines.
func text(lines ...string) string { return strings.Join(lines, "\n") }

// configMap takes pairs of key and value.
func configMap(name string, kv ...string) ConfigMap {
	m := ConfigMap{Name: name, ResourceVersion: "1", Data: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		m.Data[kv[i]] = kv[i+1]
	}
	return m
}

const (
	good   = "agent_name=fence_bmc\naction=off\nip=10.0.0.7\nusername=fence\nsecret=bmc-7"
	config = "node_name=7\npower_management=ipmi"
)

// own is node 7's ConfigMap with one method.
func own(props, method string) ConfigMap {
	return configMap("fence-config-node-7", "config.properties", props, "fence-method-ipmi", method)
}

// with is the good method and more lines.
func with(lines ...string) ConfigMap { return own(config, good+"\n"+text(lines...)) }

// without is the good method but for one line.
func without(line string) ConfigMap {
	return own(config, strings.Replace(good, line, "# "+line, 1))
}

var node7 = Node{Name: "7", Type: "rack", Identity: "uuid-7"}

// resolved, duplicates and clusterOf ask one node's question of ConfigMaps.
func resolved(all []ConfigMap, n Node, s Settings) (Plan, error) { return Of(all, nil, s).Resolve(n) }

func duplicates(all []ConfigMap, enrolled []Node, s Settings, n Node, mine ...api.Binding) error {
	return Of(all, enrolled, s).Duplicates(n, mine...)
}

func clusterOf(all []ConfigMap) (Cluster, error) { return Of(all, nil, Settings{}).Cluster() }

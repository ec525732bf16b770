package config

import (
	"slices"
	"strings"
)

// The names of ConfigMaps.
const (
	configPrefix  = "fence-config-"
	nodePrefix    = "fence-config-node-"
	typePrefix    = "fence-config-type-"
	defaultConfig = "fence-config-default"
	methodPrefix  = "fence-method-"
)

// source is a chosen ConfigMap with its config.properties.
type source struct {
	cm    ConfigMap
	own   bool
	lines map[string]entry
}

func (s source) at() place { return place{cm: s.cm.Name, key: configKey} }

// choose finds the most specific ConfigMap. Only that one counts; nothing is merged into it
// from a less specific one.
func (r *resolver) choose() (source, error) {
	if r.node.Name == "" {
		return source{}, &Error{Msg: "the node has no name"}
	}
	newer, isNewer := r.maps[nodePrefix+r.node.Name]
	older, isOlder := r.maps[configPrefix+r.node.Name]
	isOlder = isOlder && meant(older, r.node.Name)
	switch {
	case isNewer && isOlder:
		return source{}, &Error{ConfigMap: newer.Name, Msg: "ConfigMap " + older.Name + " is for node " + r.node.Name +
			" as well; that can be read in two ways: delete one of them"}
	case isNewer:
		return r.open(newer, true)
	case isOlder:
		return r.open(older, true)
	}
	looked := []string{nodePrefix + r.node.Name, configPrefix + r.node.Name}
	if r.node.Type != "" {
		looked = append(looked, typePrefix+r.node.Type)
	}
	looked = append(looked, defaultConfig)
	for _, name := range looked[2:] {
		if m, ok := r.maps[name]; ok {
			return r.open(m, false)
		}
	}
	return source{}, &Error{Msg: "no binding: there is no ConfigMap " + strings.Join(looked, ", "), kind: ErrNoBinding}
}

// meant reports whether a ConfigMap with the older form of name is about this node. Some
// names have two meanings: fence-config-node-7 may be about node 7 or about node node-7. It
// counts for the other node only if the ConfigMap itself names that node.
func meant(m ConfigMap, node string) bool {
	lines, err := parse(place{}, m.Data[configKey], norm)
	if other, ok := strings.CutPrefix(m.Name, nodePrefix); ok {
		return err != nil || lines["node_name"].value != other
	}
	if strings.HasPrefix(m.Name, typePrefix) || m.Name == defaultConfig {
		return err == nil && lines["node_name"].value == node
	}
	return true
}

var configKeys = []string{"isolation", "kdump", "node_name", "power_management", "power_management_2", "power_management_3", "power_management_4", "recovery"}

// open reads config.properties.
func (r *resolver) open(m ConfigMap, own bool) (source, error) {
	r.use(m)
	s := source{cm: m, own: own}
	text, ok := m.Data[configKey]
	if !ok {
		return s, s.at().errorf("missing")
	}
	var err error
	if s.lines, err = parse(s.at(), text, norm); err != nil {
		return s, err
	}
	for _, e := range inOrder(s.lines) {
		if !slices.Contains(configKeys, e.name) {
			return s, e.at.errorf("unknown key %s; %sknown are %s", shown(e.written), meantBy(e.written, configKeys), strings.Join(configKeys, ", "))
		}
	}
	return s, r.named(s)
}

// named checks that node_name is the node.
func (r *resolver) named(s source) error {
	e, ok := s.lines["node_name"]
	switch {
	case ok && !s.own:
		return e.at.errorf("node_name is in a ConfigMap for many nodes; it belongs in %s%s", nodePrefix, r.node.Name)
	case s.own && !ok:
		return s.at().errorf("node_name is missing; it must be %s", r.node.Name)
	case s.own && e.value != r.node.Name:
		return e.at.errorf("node_name is %q, but the ConfigMap is read for node %s", e.value, r.node.Name)
	}
	return nil
}

// inOrder returns the lines in the order of the file, so that the first error is the first
// line's.
func inOrder(lines map[string]entry) []entry {
	out := make([]entry, 0, len(lines))
	for _, e := range lines {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int {
		if c := strings.Compare(a.at.cm+"/"+a.at.key, b.at.cm+"/"+b.at.key); c != 0 {
			return c
		}
		return a.at.line - b.at.line
	})
	return out
}

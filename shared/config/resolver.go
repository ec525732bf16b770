package config

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// resolver resolves one node.
type resolver struct {
	maps map[string]ConfigMap
	node Node
	s    Settings
	// sources are the ConfigMaps that were read, in the order of reading.
	sources []api.ConfigSource
}

// use notes that m was read.
func (r *resolver) use(m ConfigMap) {
	r.from(api.ConfigSource{Kind: api.KindConfigMap, Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion})
}

func (r *resolver) from(s api.ConfigSource) {
	if !slices.Contains(r.sources, s) {
		r.sources = append(r.sources, s)
	}
}

// The data keys.
const (
	configKey   = "config.properties"
	methodKey   = "method.properties"
	templateKey = "template.properties"
)

package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The ConfigMaps about the cluster, with config.properties.
const (
	clusterConfig = "fence-cluster-config"
	fenceLimit    = "fence-policy-fence-limit"
)

// Cluster has the settings that ConfigMaps make for the whole cluster. The zero value sets
// nothing.
type Cluster struct {
	// Grace is how long a node must have been unhealthy, whatever its policy says.
	Grace time.Duration
	// Retries replaces the policy's number of tries for a step.
	Retries int32
	// SkipFrom is the percentage of unhealthy nodes from which on no fence begins.
	SkipFrom int32
	// Sources are the ConfigMaps that were read, in the versions that were read.
	Sources []api.ConfigSource
}

// Cluster reads fence-cluster-config and fence-policy-fence-limit. A fault in them holds
// every fence, because they are limits.
func (all *Configs) Cluster() (Cluster, error) {
	if all.twice != nil {
		return Cluster{}, all.twice
	}
	r := all.resolver(Node{})
	var c Cluster
	if m, ok := r.maps[clusterConfig]; ok {
		if err := c.general(r, m); err != nil {
			return Cluster{}, err
		}
	}
	if m, ok := r.maps[fenceLimit]; ok {
		if err := c.limit(r, m); err != nil {
			return Cluster{}, err
		}
	}
	c.Sources = r.sources
	return c, nil
}

// properties reads config.properties and refuses unknown keys.
func (r *resolver) properties(m ConfigMap, known ...string) (map[string]entry, error) {
	r.use(m)
	at := place{cm: m.Name, key: configKey}
	text, ok := m.Data[configKey]
	if !ok {
		return nil, at.errorf("missing")
	}
	lines, err := parse(at, text, canonicalCluster)
	if err != nil {
		return nil, err
	}
	for _, e := range inOrder(lines) {
		if !slices.Contains(known, e.name) {
			return nil, e.at.errorf("unknown key %s; %sknown are %s", shown(e.written), meantBy(e.written, known), strings.Join(known, ", "))
		}
	}
	return lines, nil
}

// canonicalCluster translates the proposal's own spellings.
func canonicalCluster(name string) string {
	switch n := norm(name); n {
	case "precentage":
		return "percentage"
	case "roles": // an earlier name of policies
		return "policies"
	default:
		return n
	}
}

func (c *Cluster) general(r *resolver, m ConfigMap) error {
	lines, err := r.properties(m, "giveup_retries", "grace_timeout", "policies")
	if err != nil {
		return err
	}
	grace, err := number(lines, "grace_timeout", 0, 86400)
	if err != nil {
		return err
	}
	c.Grace = time.Duration(grace) * time.Second
	if c.Retries, err = number(lines, "giveup_retries", 1, 100); err != nil {
		return err
	}
	e := lines["policies"]
	for _, name := range strings.Fields(strings.ReplaceAll(e.value, ",", " ")) {
		if name != "fence-limit" && name != "max-fence-limit" {
			return e.at.errorf("unknown policy %q; known is fence-limit, and everything else belongs in a FencePolicy", name)
		}
		if _, ok := r.maps[fenceLimit]; !ok {
			return e.at.errorf("policy %q has no ConfigMap %s; make one with percentage=<1 to 100>, or delete the name here", name, fenceLimit)
		}
	}
	return nil
}

func (c *Cluster) limit(r *resolver, m ConfigMap) error {
	lines, err := r.properties(m, "percentage", "policy_name")
	if err != nil {
		return err
	}
	if e, ok := lines["policy_name"]; ok && e.value != "fence-limit" {
		return e.at.errorf("policy_name is %q, but this ConfigMap is for fence-limit", e.value)
	}
	if _, ok := lines["percentage"]; !ok {
		return (place{cm: m.Name, key: configKey}).errorf("percentage is missing")
	}
	c.SkipFrom, err = number(lines, "percentage", 1, 100)
	return err
}

// number reads a whole number; 0 if the line is missing.
func number(lines map[string]entry, name string, least, most int32) (int32, error) {
	e, ok := lines[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(e.value, "%"), 10, 32)
	if err != nil || int32(n) < least || int32(n) > most || name != "percentage" && strings.HasSuffix(e.value, "%") {
		return 0, e.at.errorf("%s takes a whole number from %d to %d", shown(e.written), least, most)
	}
	return int32(n), nil
}

// Over applies these settings to a policy as resolved. It adds limits and loosens none.
func (c Cluster) Over(p *api.ResolvedPolicy) {
	for i := range p.Settings.UnhealthyConditions {
		p.Settings.UnhealthyConditions[i].Duration.Duration = max(p.Settings.UnhealthyConditions[i].Duration.Duration, c.Grace)
	}
	if c.Retries > 0 {
		p.Settings.Power.Attempts = c.Retries
	}
	p.Limits = slices.DeleteFunc(p.Limits, func(l api.ScopedLimits) bool { return l.SkipFrom > 0 })
	if c.SkipFrom > 0 {
		p.Limits = append(p.Limits, api.ScopedLimits{
			Policy: "ConfigMap " + fenceLimit, SkipFrom: c.SkipFrom, MaxUnhealthy: intstr.FromString("100%"), MaxConcurrent: 1000,
		})
	}
}

package binding

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// A FenceAgentsRemediation gives the device of its node as a ConfigMap about that node does, and is
// read by the same code: it becomes the ConfigMap that would say the same. So what holds for
// ConfigMaps holds for it (S11: the device is the node's own): a machine that two nodes have is
// refused for both, and so is a node with two configurations that differ.

// adopted is an object of another project, and the node's device in it.
type adopted struct {
	api.AdoptedDevice
	strategy string
	device   far.Device
	// failed is why it can't be read.
	failed error
	// fields are where the lines of its method came from.
	fields []string
	cm     config.ConfigMap
}

// The names of the ConfigMaps that a node may have of its own.
func ownNames(node string) []string {
	return []string{"fence-config-node-" + node, "fence-config-" + node}
}

// saidOf is what an object says of a node.
func saidOf(kind string, m *metav1.ObjectMeta, spec far.Spec, node string) *adopted {
	a := &adopted{AdoptedDevice: api.AdoptedDevice{Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, NodeName: node}}
	if a.device, a.failed = far.Read(spec, node); a.failed != nil {
		return a
	}
	a.strategy, _ = spec.Strategy() // Read has read it
	a.SharedSecretName, a.NodeSecretName = a.device.SharedSecret, a.device.NodeSecret
	text, method, fields := a.device.Lines(node)
	a.fields = fields
	a.cm = config.ConfigMap{Namespace: m.Namespace, Name: ownNames(node)[0], ResourceVersion: m.ResourceVersion, Adopted: true, Data: map[string]string{
		"config.properties": text, "fence-method-" + far.Method: method,
	}}
	return a
}

// words name the object.
func (a *adopted) words() string { return a.Kind + " " + a.Namespace + "/" + a.Name }

// same tells whether two objects say the same of a node.
func (a *adopted) same(o *adopted) bool {
	return a.failed == nil && o.failed == nil && a.Namespace == o.Namespace && a.cm.Data["fence-method-"+far.Method] == o.cm.Data["fence-method-"+far.Method]
}

// name writes the object into the node's plan, in place of the ConfigMap that stood for it.
func (a *adopted) name(p *config.Plan, s config.Settings) {
	if a == nil {
		return
	}
	is, b := a.AdoptedDevice, &p.Binding
	b.Adopted = &is
	for i := range b.Sources {
		if s := &b.Sources[i]; s.Name == a.cm.Name && s.Namespace == a.Namespace {
			s.Kind, s.Name = a.Kind, a.Name
		}
	}
	for i := range b.SecretRefs {
		switch r := &b.SecretRefs[i]; r.Kind {
		case api.KindSecret:
			r.Key = flagOf(r.Parameter)
		case api.KindConfigMap:
			_, line, _ := strings.Cut(r.Key, "/")
			r.Kind, r.Name, r.Key = a.Kind, a.Name, a.device.Params[line].Field
		}
	}
	a.tell(p, s)
}

// tell has what a plan says to people name the object too.
func (a *adopted) tell(p *config.Plan, s config.Settings) {
	for param := range p.Origins {
		for name, given := range a.device.Params {
			if s.Canonical(name) == s.Canonical(param) {
				p.Origins[param] = a.words() + ", " + given.Field
			}
		}
	}
	for i, note := range p.Notes {
		if param, _, is := strings.Cut(note, " is in ConfigMap "+a.cm.Name); is {
			p.Notes[i] = param + " is in " + a.words() + ", where everyone who may read it can; put it into a Secret, and name that in sharedSecretName or nodeSecretNames"
		}
	}
}

// flagOf is the key by which a Secret has a parameter.
func flagOf(parameter string) string { return "--" + strings.ReplaceAll(parameter, "_", "-") }

// over applies what the object says of tries and times. The object that asks for a fence also says
// in which of the ways that the policy has the work is released. Its tries are all that there are: the
// flow does not start over, so that the object says it failed when they are used up.
func (a *adopted) over(p *api.ResolvedPolicy) {
	if a == nil {
		return
	}
	s := &p.Settings
	s.Power.Attempts = a.device.Retries
	s.Power.RetryInterval.Duration = bounded(a.device.Interval)
	s.Power.OffTimeout.Duration = bounded(a.device.Timeout)
	if a.Kind != far.Kind {
		return
	}
	s.Power.Restarts = 0
	if strategy, err := far.Release(a.strategy, *p); err == nil {
		s.Release.Strategy = strategy
	}
}

// one is the object that gives a node's device, if all that are about it agree, and no ConfigMap of
// the node's own says another thing.
func one(all []*adopted, taken map[string]bool) (*adopted, error) {
	a := all[0]
	if a.failed != nil {
		return a, fmt.Errorf("%s, %w", a.words(), a.failed)
	}
	begun := a.RebootBegun
	for _, o := range all[1:] {
		begun = begun || o.RebootBegun
		if o.failed != nil {
			return a, fmt.Errorf("%s, %w", o.words(), o.failed)
		}
		if !a.same(o) {
			return a, fmt.Errorf("%s and %s give node %s different devices; that can be read in two ways: mend one of them", a.words(), o.words(), a.NodeName)
		}
	}
	if name := a.cm.Name; taken[name] {
		return a, fmt.Errorf("%s and ConfigMap %s are both about node %s; that can be read in two ways: delete one of them", a.words(), name, a.NodeName)
	}
	a.RebootBegun = begun
	return a, nil
}

// bounded is a time as a policy takes it.
func bounded(d time.Duration) time.Duration { return min(max(d, time.Second), time.Hour) }

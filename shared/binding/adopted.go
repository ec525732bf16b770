package binding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	version  string
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
	a := &adopted{AdoptedDevice: api.AdoptedDevice{Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID, NodeName: node}, version: m.ResourceVersion}
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

// where says of an error of a ConfigMap that stands for an object in which object and field it is.
func (r *resolution) where(err error) error {
	var e *config.Error
	if !errors.As(err, &e) || r.stands[e.ConfigMap] == nil {
		return err
	}
	a := r.stands[e.ConfigMap]
	at := a.words()
	if e.Line > 0 && e.Line <= len(a.fields) && strings.HasPrefix(e.Key, "fence-method-") {
		at += ", " + a.fields[e.Line-1]
	} else if e.Key != "" {
		at += ", spec"
	}
	return fmt.Errorf("%s: %s", at, e.Msg)
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

// specific refuses a device whose machine the object does not choose for this node alone: what it
// gives all nodes is another's machine for all but one of them (S11).
func (b Resolver) specific(r *resolution) error {
	a := r.adopted
	if a == nil {
		return nil
	}
	kind, err := b.kind(&r.plan.Binding, nil)
	if err != nil {
		return err
	}
	s := b.settings()
	var chooses []string
	for _, p := range kind.Params {
		if !p.Machine {
			continue
		}
		chooses = append(chooses, flagOf(p.Name))
		for name, given := range a.device.Params {
			if given.OfNode && s.Canonical(name) == s.Canonical(p.Name) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s, spec: nothing in it chooses the machine of node %s alone: give %s in nodeparameters, or with {{.NodeName}} in sharedparameters", a.words(), a.NodeName, strings.Join(chooses, " or "))
}

// adopt adds the ConfigMaps that stand for the objects of others. A fault in this node's own is a
// config.Refused; a fault in another node's is that node's.
func (b Resolver) adopt(ctx context.Context, r *resolution, s config.Settings) error {
	if len(b.Adopts) == 0 {
		return nil
	}
	gives, claims, err := b.adoptable(ctx)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	r.stands = map[string]*adopted{}
	r.maps = slices.Clone(r.from.maps)
	for _, m := range r.maps {
		taken[m.Name] = true
	}
	node := r.node.Name
	if mine := gives[node]; len(mine) > 0 {
		if r.adopted, err = one(mine, taken); err != nil {
			return &config.Refused{Err: err}
		}
		r.maps, r.stands[r.adopted.cm.Name] = append(r.maps, r.adopted.cm), r.adopted
	}
	for _, other := range slices.Sorted(maps.Keys(claims)) {
		all := claims[other]
		for i, a := range all {
			if other == node || a.failed != nil || slices.ContainsFunc(all[:i], a.same) {
				continue
			}
			// What another node has twice is refused when that node is looked at. Here each counts.
			if name := a.cm.Name; !taken[name] {
				taken[name], r.stands[name] = true, a
				r.maps = append(r.maps, a.cm)
			} else {
				r.further = append(r.further, a)
			}
		}
	}
	r.configs = config.Of(r.maps, r.from.nodes, s)
	return nil
}

// duplicates refuses a device that another node has too, by whatever is said of that node.
func (r *resolution) duplicates(s config.Settings) error {
	err := r.configs.Duplicates(r.node, r.plan.Devices()...)
	for i := 0; err == nil && i < len(r.further); i++ {
		a := r.further[i]
		rest := slices.DeleteFunc(slices.Clone(r.maps), func(m config.ConfigMap) bool { return slices.Contains(ownNames(a.NodeName), m.Name) })
		r.stands[a.cm.Name] = a
		err = config.Of(append(rest, a.cm), r.from.nodes, s).Duplicates(r.node, r.plan.Devices()...)
	}
	return err
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

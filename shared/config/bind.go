package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// The keys of a method that are not parameters of its device.
var controls = []string{"action", "agent_name", identityKey, "must_success", "name", "namespace", "node_name", "secret", "settle", "template"}

// identityKey gives what the device says its machine is, in place of what was enrolled.
const identityKey = "identity"

// Parameters of agents that drivers do not use: how long to wait, how much to print, and
// the method of switching, of which nodefence has only one.
var ignored = []string{
	"boto3_debug", "debug", "delay", "inet4_only", "inet6_only", "lanplus", "login_timeout", "power_timeout", "power_wait", "quiet", "retry_on",
	"shell_timeout", "stonith_status_sleep", "timeout", "verbose",
}

var secretName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// kind returns the driver of a method, or a built-in's name.
func (r *resolver) kind(m *method) (device.Kind, string, error) {
	e, ok := m.values["agent_name"]
	if !ok {
		return device.Kind{}, "", m.at.errorf("agent_name is missing; known are %s", r.agents())
	}
	n := norm(e.value)
	if _, ok := m.values["job_image"]; ok && r.s.Job != nil {
		k, err := r.s.Job(n)
		if err != nil {
			return k, "", e.at.wrap(err)
		}
		return k, "", nil
	}
	if b, ok := builtin(n); ok {
		return device.Kind{}, b, nil
	}
	driver, ok := r.s.Agents[n]
	if !ok {
		driver = e.value
	}
	k, ok := r.s.Kinds[driver]
	if !ok && r.s.Find != nil && strings.HasPrefix(n, "fence_") {
		k, err := r.s.Find(n)
		if near := meantBy(n, slices.Collect(maps.Keys(r.s.Agents))); near != "" && errors.As(err, new(device.NotInstalled)) {
			err = fmt.Errorf("%w; %s", err, strings.TrimSpace(near))
		}
		if err != nil {
			return k, "", e.at.wrap(err)
		}
		return k, "", nil
	}
	if !ok {
		return k, "", e.at.errorf("unknown agent %q; %sknown are %s", e.value, meantBy(n, slices.Collect(maps.Keys(r.s.Agents))), r.agents())
	}
	return k, "", nil
}

func (r *resolver) agents() string {
	return strings.Join(slices.Sorted(maps.Keys(r.s.Agents)), ", ")
}

// bind makes a binding from a method's values. If the binding can be read but is not for
// the enrolled machine, bind returns it together with an error.
func (r *resolver) bind(m *method, k device.Kind) (*bound, error) {
	b := &bound{method: m.name, values: map[string]string{}, origins: map[string]string{}}
	b.Driver, b.EffectDelay, b.Identity = k.Name, metav1.Duration{Duration: k.EffectDelay}, r.node.Identity
	b.IdentityFault, b.bySystem = r.node.IdentityFault, k.Identity == ""
	b.Params = map[string]string{}
	if err := r.nameMachine(b, m, k); err != nil {
		return nil, err
	}
	var err error
	if b.Lead, err = lead(m, k); err != nil {
		return nil, err
	}
	var script *entry
	for _, e := range inOrder(m.values) {
		if strings.HasSuffix(e.name, "_script") {
			script = &e
			continue
		}
		if err := r.take(b, m, k, e); err != nil {
			return nil, err
		}
	}
	enrolled := r.enrolled(k)
	if err := r.fill(b, m, k, enrolled); err != nil {
		return nil, err
	}
	if script != nil {
		return nil, script.at.errorf("%s is refused: nodefence runs no programs that a ConfigMap names; put the value into a Secret and write secret=<its name>", shown(script.written))
	}
	if b.Address, err = k.Address(maps.Clone(b.Params)); err != nil {
		return nil, m.at.errorf("%v", err)
	}
	if b.Address == "" {
		return nil, m.at.errorf("the parameters choose no machine")
	}
	if k.Identity != "" {
		b.Identity, b.IdentityFault = b.Params[k.Identity], ""
	}
	return b, r.agree(b, m, k, enrolled)
}

// nameMachine takes the identity that the method gives. It wins over what was enrolled.
func (r *resolver) nameMachine(b *bound, m *method, k device.Kind) error {
	e, ok := m.values[identityKey]
	if _, own := r.param(k, identityKey); !ok || own {
		return nil
	}
	if err := check(e, false); err != nil {
		return err
	}
	switch {
	case k.Identity != "":
		return e.at.errorf("driver %s knows its machine by %s; leave %s= out", k.Name, k.Identity, identityKey)
	case !e.own:
		return r.notOwn(m, e)
	}
	b.Identity, b.IdentityFault, b.named = e.value, "", true
	if why := device.IdentityFault(e.value); why != "" {
		return e.at.errorf("%s %s %s; give the identity of this machine alone, or leave %s= out", identityKey, quoted(e.value), why, identityKey)
	}
	if id, err := device.UUID(identityKey, e.value); err == nil {
		b.Identity = id
	}
	b.values[identityKey], b.origins[identityKey] = "literal "+b.Identity, e.at.String()
	return nil
}

// notOwn refuses a line about the machine in a ConfigMap about many nodes.
func (r *resolver) notOwn(m *method, e entry) error {
	return e.at.errorf("%s says which machine is meant, and this ConfigMap is not about one node; give it in ConfigMap %s%s or %s%s-%s",
		shown(e.written), nodePrefix, r.node.Name, methodPrefix, m.name, r.node.Name)
}

// take copies one line into the binding.
func (r *resolver) take(b *bound, m *method, k device.Kind, e entry) error {
	if saysCover(k, e) {
		return check(e, false)
	}
	p, ok := r.param(k, e.name)
	if !ok {
		return r.other(k, e)
	}
	if err := check(e, p.Secret); err != nil {
		return err
	}
	if p.Machine && !e.own {
		return r.notOwn(m, e)
	}
	b.values[p.Name], b.origins[p.Name] = "literal "+e.value, e.at.String()
	if p.Secret {
		b.refer(p.Name, api.KindConfigMap, e.at.cm, e.at.key+"/"+e.written)
		return nil
	}
	b.Params[p.Name] = e.value
	return nil
}

// other handles a line that is no parameter of the driver.
func (r *resolver) other(k device.Kind, e entry) error {
	switch {
	case e.name == "secret" && !secretName.MatchString(e.value):
		// The error does not show the value: it may be the secret itself.
		return e.at.errorf("secret= takes the name of a Secret, and this is not one")
	case e.name == "node_name" && e.value != r.node.Name:
		return e.at.errorf("node_name is %q, but the method is read for node %s", e.value, r.node.Name)
	case slices.Contains(controls, e.name):
		return nil
	case e.name == "method" && e.value == "cycle":
		return e.at.errorf("method=cycle is refused: a machine that was never seen off proves nothing; leave it out or write method=onoff")
	case e.name == "method" && e.value == "onoff":
		return nil
	case e.name == "method":
		return e.at.errorf("method takes only onoff")
	case k.Denied != nil && k.Denied(e.name) != "":
		return e.at.errorf("%s", k.Denied(e.name))
	case slices.Contains(ignored, e.name):
		return check(e, false)
	}
	known := slices.Clone(controls)
	for _, p := range k.Params {
		known = append(known, p.Name)
	}
	slices.Sort(known)
	return e.at.errorf("unknown parameter %s for driver %s; %sknown are %s", shown(e.written), k.Name, meantBy(e.written, known), strings.Join(known, ", "))
}

// fill completes a binding from the enrolment, the Secret and the defaults.
func (r *resolver) fill(b *bound, m *method, k device.Kind, enrolled map[string]string) error {
	secret, from := m.values["secret"]
	var missing []string
	for _, p := range k.Params {
		_, given := b.values[p.Name]
		switch {
		case given && r.twice(m, p, from):
			return m.values[r.secretLine(m, k, p)].at.errorf("%s is given here and by secret=%s; delete one of them", p.Name, secret.value)
		case given:
		case enrolled[p.Name] != "":
			b.Params[p.Name], b.values[p.Name] = enrolled[p.Name], "literal "+enrolled[p.Name]
			b.origins[p.Name] = "the provider ID with which the node was enrolled"
		case from && (p.Secret || p.Required && !p.Machine):
			ref := b.refer(p.Name, api.KindSecret, secret.value, p.Name)
			b.values[p.Name], b.origins[p.Name] = "secret "+secret.value, ref.String()
		case p.Default != "":
			b.Params[p.Name], b.values[p.Name] = p.Default, "literal "+p.Default
			b.origins[p.Name] = "the default of driver " + k.Name
		case p.Required:
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 {
		hint := ""
		if k.Cloud != nil && enrolled == nil {
			hint = ", and node " + r.node.Name + " was not enrolled with a provider ID that has it"
		}
		return m.at.errorf("missing %s for driver %s%s", strings.Join(missing, ", "), k.Name, hint)
	}
	return nil
}

// twice: a secret that a line gives is in the Secret too. What the Secret of an adopted object has
// is known only when it is read.
func (r *resolver) twice(m *method, p device.Param, from bool) bool {
	return from && p.Secret && !r.maps[m.at.cm].Adopted
}

// secretLine is the name by which a parameter was given.
func (r *resolver) secretLine(m *method, k device.Kind, p device.Param) string {
	for n := range m.values {
		if q, ok := r.param(k, n); ok && q.Name == p.Name {
			return n
		}
	}
	return p.Name
}

// param finds a driver's parameter by its canonical name.
func (r *resolver) param(k device.Kind, name string) (device.Param, bool) {
	for _, p := range k.Params {
		if r.canonical(p.Name) == name {
			return p, true
		}
	}
	return device.Param{}, false
}

// saysCover reports whether a line is one of these.
func saysCover(k device.Kind, e entry) bool {
	return k.Scope == device.ScopeStorage && (e.name == storageClasses || e.name == csiDrivers)
}

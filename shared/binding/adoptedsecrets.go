package binding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/job"
)

// openAdopted reads what an object of another project, and the Secrets that it names, have besides
// the parameters in the binding, and opens the driver. All of it is read for this one call and kept
// nowhere (S29: no secret is shown). What the binding has does not change by it.
func (b Resolver) openAdopted(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	kind, err := b.kind(bound, r)
	if err != nil {
		return nil, err
	}
	at := bound.Adopted
	spec, err := b.specOf(ctx, at)
	if err != nil {
		return nil, err
	}
	c := &adoptedCredentials{credentials: credentials{Resolver: b, kind: kind, read: map[string]*corev1.Secret{}}, at: at, gone: spec == nil, bound: bound.Params, out: maps.Clone(bound.Params)}
	if c.gone { // what was begun runs to its end (S25) by the Secrets that the record names
		c.device = far.Device{SharedSecret: at.SharedSecretName, NodeSecret: at.NodeSecretName, Optional: at.SharedSecretName == far.DefaultSecret}
	} else if c.device, err = far.Read(*spec, at.NodeName); err != nil {
		return nil, fmt.Errorf("%s %s/%s, %w", at.Kind, at.Namespace, at.Name, err)
	}
	if c.out == nil {
		c.out = map[string]string{}
	}
	if err := c.complete(ctx); err != nil {
		return nil, err
	}
	return kind.Open(c.out)
}

// specOf reads the spec that gave a binding, from the same object; nil if that is gone.
func (b Resolver) specOf(ctx context.Context, at *api.AdoptedDevice) (*far.Spec, error) {
	if at.Kind == far.TemplateKind {
		t, err := b.Client.FARTemplate(ctx, at.Namespace, at.Name)
		if err != nil || t == nil || t.UID != at.UID {
			return nil, err
		}
		return &t.Spec.Template.Spec, nil
	}
	o, err := b.Client.FAR(ctx, at.Namespace, at.Name)
	if err != nil || o == nil || o.UID != at.UID {
		return nil, err
	}
	return &o.Spec, nil
}

// adoptedCredentials completes the parameters of one call.
type adoptedCredentials struct {
	credentials
	at     *api.AdoptedDevice
	device far.Device
	// bound are the parameters that the binding has: no Secret changes them.
	bound map[string]string
	// gone: the object is, and the Secrets that it named are what is left.
	gone bool
	out  map[string]string
}

// complete adds what the object's own lines have of secrets, and then what the two Secrets have, of
// which the node's own wins.
func (c *adoptedCredentials) complete(ctx context.Context) error {
	for name, given := range c.device.Params {
		if p, ok := c.param(name); ok && p.Secret {
			c.out[p.Name] = given.Value
		}
	}
	var used []string
	from := map[string]string{}
	for _, s := range []struct {
		name     string
		optional bool
	}{{c.device.SharedSecret, c.device.Optional}, {c.device.NodeSecret, false}} {
		if s.name == "" || slices.Contains(used, s.name) {
			continue
		}
		secret, err := c.Client.Secret(ctx, c.at.Namespace, s.name)
		switch {
		case err != nil:
			return err
		case secret == nil && s.optional:
			continue
		case secret == nil:
			return fmt.Errorf("secret %s/%s does not exist, which %s %s/%s names", c.at.Namespace, s.name, c.at.Kind, c.at.Namespace, c.at.Name)
		}
		used, c.read[s.name] = append(used, s.name), secret
		if err := c.take(s.name, secret, from); err != nil {
			return err
		}
	}
	if err := c.lacking(used); err != nil {
		return err
	}
	return c.sendable(from)
}

// take takes the parameters of one Secret. Its keys are the agent's long flags. A key that is no
// parameter of the driver is left out, as it is of a node's ConfigMap.
func (c *adoptedCredentials) take(name string, s *corev1.Secret, from map[string]string) error {
	seen := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		at := "Secret " + c.at.Namespace + "/" + name + ", key " + key + ": "
		if far.Name(key) == "action" {
			return errors.New(at + "the action is given in the spec's parameters only")
		}
		p, ok := c.param(far.Name(key))
		if !ok {
			continue
		}
		if seen[p.Name] {
			return errors.New(at + "another key of this Secret is the same parameter; delete one of them")
		}
		seen[p.Name] = true
		if p.Machine {
			return errors.New(at + "it says which machine is meant, which a Secret never does; give it in spec.nodeparameters and delete it here")
		}
		for given := range c.device.Params {
			if q, is := c.param(given); is && q.Name == p.Name {
				return errors.New(at + "it is given in " + c.device.Params[given].Field + " of " + c.at.Kind + " " + c.at.Namespace + "/" + c.at.Name + " as well; delete one of them")
			}
		}
		if is, frozen := c.bound[p.Name]; frozen && is != p.Default {
			return errors.New(at + "the record of the fence has it already, from " + c.at.Kind + " " + c.at.Namespace + "/" + c.at.Name + "; delete it here")
		}
		value, _, err := far.Render(string(s.Data[key]), c.at.NodeName)
		if err == nil {
			err = config.CheckSecret(value)
		}
		if err != nil {
			return fmt.Errorf("%s%w", at, err)
		}
		c.out[p.Name], from[p.Name] = value, name
	}
	return nil
}

// lacking returns an error that names a parameter which the driver needs, and which nothing gives.
func (c *adoptedCredentials) lacking(used []string) error {
	where := "none of its Secrets exists"
	if len(used) > 0 {
		where = "Secret " + strings.Join(used, " and ") + " of namespace " + c.at.Namespace + " does not either"
	}
	for _, p := range c.kind.Params {
		if _, given := c.out[p.Name]; p.Required && !given && p.Default == "" {
			says := "does not give"
			if c.gone {
				says = "is gone, and no longer gives"
			}
			return fmt.Errorf("%s %s/%s %s %s, and %s: add key %s there", c.at.Kind, c.at.Namespace, c.at.Name, says, flagOf(p.Name), where, flagOf(p.Name))
		}
	}
	return nil
}

// sendable refuses to send a Secret to a host that the Secret does not name, if it names any. One
// that names none goes where the object says: whoever may write such an object in a namespace could
// always have its Secrets sent where they like, by the program that the object belongs to.
func (c *adoptedCredentials) sendable(from map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(c.read)) {
		hosts, named := c.read[name].Annotations[config.HostsAnnotation]
		if !named || c.kind.Hosts == nil {
			continue
		}
		to, err := c.kind.Hosts(c.out)
		if err != nil {
			return err
		}
		var keys []string
		for p, by := range from {
			if by == name {
				keys = append(keys, flagOf(p))
			}
		}
		slices.Sort(keys)
		if err := (config.Secret{Namespace: c.at.Namespace, Name: name, Hosts: hosts, Named: true}).SendableTo(keys, to); err != nil {
			return err
		}
	}
	return nil
}

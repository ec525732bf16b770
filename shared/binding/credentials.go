package binding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/spelling"
)

// credentials reads the secrets of one device for one call. It reads each Secret once,
// right before the call (S29: no secret is shown).
type credentials struct {
	Resolver
	kind device.Kind
	// read has the Secrets, by name.
	read map[string]*corev1.Secret
}

// errNoKey: the Secret exists, and lacks a key.
var errNoKey = errors.New("no such key")

// params returns the parameters with their secrets.
func (c *credentials) params(ctx context.Context, bound *api.Binding) (map[string]string, error) {
	out, err := config.Credentials(*bound, func(ref api.SecretRef) (string, error) {
		value, err := c.value(ctx, ref)
		if p, ok := c.param(ref.Key); errors.Is(err, errNoKey) && !(ok && p.Required) {
			return "", config.ErrAbsent
		}
		return value, err
	})
	if err != nil {
		return nil, err
	}
	if len(bound.SecretRefs) > 0 && len(out) == len(bound.Params) {
		var keys []string
		for _, ref := range bound.SecretRefs {
			keys = append(keys, ref.Parameter)
		}
		return nil, fmt.Errorf("the Secret %s/%s has none of the keys %s; %s", c.SecretsNamespace, strings.Join(slices.Sorted(maps.Keys(c.read)), ", "), strings.Join(keys, ", "), c.add(keys...))
	}
	for _, name := range slices.Sorted(maps.Keys(c.read)) {
		if err := c.others(name, bound, out); err != nil {
			return nil, err
		}
	}
	if err := c.missing(out); err != nil {
		return nil, err
	}
	return out, c.hosts(bound, out)
}

// missing returns an error that names a parameter which the driver needs, and which neither
// a ConfigMap nor the Secret has.
func (c *credentials) missing(out map[string]string) error {
	for _, p := range c.kind.Params {
		if _, given := out[p.Name]; p.Required && !p.Machine && p.Default == "" && !given && len(c.read) > 0 {
			return fmt.Errorf("the Secret %s/%s has no key %s, which no ConfigMap gives either; %s",
				c.SecretsNamespace, strings.Join(slices.Sorted(maps.Keys(c.read)), ", "), p.Name, c.add(p.Name))
		}
	}
	return nil
}

// add says what to do about a missing key. It shows another key's name only if that is
// almost the missing key's, because the other name may be the secret itself (S29).
func (c *credentials) add(keys ...string) string {
	for _, name := range slices.Sorted(maps.Keys(c.read)) {
		for _, is := range slices.Sorted(maps.Keys(c.read[name].Data)) {
			if _, known := c.param(is); known {
				continue
			}
			if n := spelling.Near(c.settings().Canonical(is), keys); n != "" {
				return fmt.Sprintf("rename its key %s to %s", is, n)
			}
		}
	}
	return "add " + strings.Join(keys, " or ") + " there"
}

// hosts refuses to send a Secret to a host that the Secret does not name (S11: the device
// is the node's own; S29: no secret is shown).
func (c *credentials) hosts(bound *api.Binding, params map[string]string) error {
	if len(c.read) == 0 {
		return nil
	}
	if c.kind.Hosts == nil {
		return fmt.Errorf("driver %s does not say where it sends a Secret", bound.Driver)
	}
	hosts, err := c.kind.Hosts(params)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.read)) {
		s := config.Secret{Namespace: c.SecretsNamespace, Name: name}
		s.Hosts, s.Named = c.read[name].Annotations[config.HostsAnnotation]
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(c.read[name].Data)) {
			if p, ok := c.param(key); ok && p.Secret {
				keys = append(keys, key)
			}
		}
		if err := s.SendableTo(keys, hosts); err != nil {
			return err
		}
	}
	return nil
}

// value reads the value that a SecretRef points to.
func (c *credentials) value(ctx context.Context, ref api.SecretRef) (string, error) {
	if ref.Kind != api.KindSecret {
		return c.literal(ctx, ref)
	}
	s, ok := c.read[ref.Name]
	if !ok {
		var err error
		s, err = c.Client.Secret(ctx, c.SecretsNamespace, ref.Name)
		if err != nil {
			return "", err
		}
		if s == nil {
			return "", fmt.Errorf("secret %s/%s does not exist; create it there, with key %s", c.SecretsNamespace, ref.Name, ref.Key)
		}
		c.read[ref.Name] = s
	}
	var found []string
	for key := range s.Data {
		if c.settings().Canonical(key) == c.settings().Canonical(ref.Key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fmt.Errorf("secret %s/%s has %w; %s", c.SecretsNamespace, ref.Name, errNoKey, c.add(ref.Key))
	case 1:
		return string(s.Data[found[0]]), nil
	}
	return "", fmt.Errorf("secret %s/%s has %s, which are one parameter; delete all but one", c.SecretsNamespace, ref.Name, strings.Join(found, " and "))
}

// others returns the parameters that a Secret has besides the secret ones. They complete
// the ConfigMaps, and never contradict them. Keys that are no parameters are ignored.
func (c *credentials) others(name string, bound *api.Binding, out map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(c.read[name].Data)) {
		p, ok := c.param(key)
		if _, asked := api.RefOf(bound.SecretRefs, p.Name); !ok || asked {
			continue
		}
		at := "Secret " + name + ", key " + key + ": "
		given, is := bound.Params[p.Name]
		switch value := string(c.read[name].Data[key]); {
		case p.Machine:
			return errors.New(at + "it says which machine is meant, which a Secret never does; give it in the node's own ConfigMap and delete it here")
		case is && given != p.Default:
			return errors.New(at + "it is given in a ConfigMap as well; delete one of them")
		default:
			if err := config.CheckSecret(value); err != nil {
				return fmt.Errorf("%s%w", at, err)
			}
			out[p.Name] = value
		}
	}
	return nil
}

// param returns the driver's parameter that a key names.
func (c *credentials) param(key string) (device.Param, bool) {
	for _, p := range c.kind.Params {
		if c.settings().Canonical(p.Name) == c.settings().Canonical(key) {
			return p, true
		}
	}
	return device.Param{}, false
}

func (c *credentials) literal(ctx context.Context, ref api.SecretRef) (string, error) {
	cm, err := c.Client.ConfigMap(ctx, c.Namespace, ref.Name)
	if err != nil {
		return "", err
	}
	if cm == nil {
		return "", fmt.Errorf("ConfigMap %s/%s does not exist", c.Namespace, ref.Name)
	}
	return config.Literal(config.ConfigMap{Name: cm.Name, Data: cm.Data}, ref.Key)
}

package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nodefence/nodefence/shared/device"
)

// noOn is why nothing is switched on (S12: only what we switched off is switched on).
const noOn = "a machine that was deleted is not switched on: its owner makes another one in its place"

// Kind declares the driver: it deletes objects of the cluster, and reads instances by the
// clouds' drivers that know a provider ID.
func Kind(cluster device.Cluster, clouds ...device.Kind) device.Kind {
	all := ofClouds(clouds)
	return device.Kind{
		Name: "machine",
		Params: append([]device.Param{
			{Name: idParam, Required: true, Machine: true, Doc: "provider ID of the instance; that with which the node was enrolled if not given"},
		}, all.params()...),
		// A call only says that the object is to be deleted. However late its controller
		// ends the instance, no power-on of ours can come before or after that.
		EffectDelay: 30 * time.Second,
		Lead:        device.AtOnce,
		NoOn:        noOn,
		Address:     all.address,
		Hosts:       all.hosts,
		Identity:    idParam,
		Cloud: func(id string) (map[string]string, bool) {
			if _, _, ok := all.of(id); !ok {
				return nil, false
			}
			return map[string]string{idParam: id}, true
		},
		Open: func(p map[string]string) (device.Driver, error) { return all.open(p, cluster) },
	}
}

// idParam chooses the instance.
const idParam = "provider_id"

// clouds are the drivers that may know an instance.
type clouds []device.Kind

func ofClouds(kinds []device.Kind) clouds {
	return slices.DeleteFunc(slices.Clone(kinds), func(k device.Kind) bool { return k.Cloud == nil || k.Scope != device.ScopePower || k.NoOn != "" })
}

// of returns the cloud of a provider ID, and the parameters that the ID stands for.
func (c clouds) of(id string) (device.Kind, map[string]string, bool) {
	for _, k := range c {
		if p, ok := k.Cloud(id); ok {
			return k, p, true
		}
	}
	return device.Kind{}, nil, false
}

// params are the clouds' parameters, except those that choose the machine: the provider ID
// does that. None is required, because each belongs to one cloud only, and the defaults are
// filled in when the cloud is known.
func (c clouds) params() []device.Param {
	var out []device.Param
	for _, k := range c {
		for _, p := range k.Params {
			i := slices.IndexFunc(out, func(o device.Param) bool { return o.Name == p.Name })
			switch {
			case p.Machine:
			case i >= 0:
				out[i].Secret = out[i].Secret || p.Secret
				out[i].Doc += "; " + k.Name + ": " + p.Doc
			default:
				out = append(out, device.Param{Name: p.Name, Secret: p.Secret, Doc: k.Name + ": " + p.Doc})
			}
		}
	}
	return out
}

// address is machine:<provider ID>, in small letters, because some clouds ignore case.
func (c clouds) address(p map[string]string) (string, error) {
	id := p[idParam]
	switch {
	case id == "":
		return "", errors.New("provider_id is missing; let the node be enrolled with it")
	case strings.ContainsFunc(id, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) || !strings.Contains(id, "://"):
		return "", fmt.Errorf("provider_id %q is no provider ID, such as aws:///eu-west-1a/i-0123456789abcdef0", id)
	}
	if k, own, ok := c.of(id); ok {
		if _, err := given(k, own, p); err != nil {
			return "", err
		}
	}
	return "machine:" + strings.ToLower(id), nil
}

// given returns a cloud's parameters. It refuses two readings, because one would be another
// machine's.
func given(k device.Kind, own, p map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, d := range k.Params {
		value, is := p[d.Name]
		switch {
		case d.Machine:
		case is && own[d.Name] != "" && own[d.Name] != value:
			return nil, fmt.Errorf("%s is %q, and the provider ID says %q; leave it out", d.Name, value, own[d.Name])
		case is:
			out[d.Name] = value
		case d.Default != "":
			out[d.Name] = d.Default
		}
	}
	maps.Copy(out, own)
	return out, nil
}

// hosts are the hosts of the cloud that reads the instance.
func (c clouds) hosts(p map[string]string) ([]string, error) {
	k, own, ok := c.of(p[idParam])
	if !ok || k.Hosts == nil {
		return nil, fmt.Errorf("provider_id %q is of no cloud that takes a Secret", p[idParam])
	}
	params, err := given(k, own, p)
	if err != nil {
		return nil, err
	}
	return k.Hosts(params)
}

func (c clouds) open(p map[string]string, cluster device.Cluster) (device.Driver, error) {
	if _, err := c.address(p); err != nil {
		return nil, err
	}
	if cluster == nil {
		return nil, device.ErrNoCluster
	}
	m := &machine{cluster: cluster, id: p[idParam]}
	k, own, ok := c.of(m.id)
	if !ok {
		return m, nil // State returns the error
	}
	params, err := given(k, own, p)
	if err != nil {
		return nil, err
	}
	if m.instance, err = k.Open(params); err != nil {
		return nil, fmt.Errorf("driver %s, by which the instance is read: %w", k.Name, err)
	}
	m.cloud, m.known = k.Name, own[k.Identity]
	return m, nil
}

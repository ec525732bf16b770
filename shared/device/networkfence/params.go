package networkfence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// Kind declares the driver. It acts by objects of the cluster.
func Kind(cluster device.Cluster) device.Kind {
	return device.Kind{
		Name:  "networkfence",
		Scope: device.ScopeStorage,
		Params: []device.Param{
			{Name: "cidrs", Required: true, Machine: true, Doc: "addresses from which the machine speaks with the storage, separated by commas"},
			// Not marked as required: a required parameter could be put into a Secret,
			// where the address could not read it.
			{Name: "driver", Doc: "name of the CSI driver, such as rook-ceph.rbd.csi.ceph.com"},
			{Name: "cluster_id", Doc: "clusterID of the storage cluster, as its StorageClass has it"},
			{Name: "csi_secret_name", Doc: "name of the Secret with which the CSI driver does it"},
			{Name: "csi_secret_namespace", Doc: "namespace of that Secret"},
		},
		// An Off that was carried out is a request that the next On reverses in the same
		// object. An Off whose call gave up may still be carried out: a request on its way
		// to the API server arrives within seconds, or not at all.
		EffectDelay: 15 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Each:        each,
		Open:        func(p map[string]string) (device.Driver, error) { return open(p, cluster) },
	}
}

// fence is one machine's access to one storage.
type fence struct {
	cluster device.Cluster
	spec    spec
}

// address is networkfence:<driver>/<cluster>#<addresses>. All parameters are checked here,
// because the address is asked for when a configuration is read; open is only called when
// the machine is to be cut off.
func address(p map[string]string) (string, error) {
	s, err := parse(p)
	if err != nil {
		return "", err
	}
	return s.address(), nil
}

func open(p map[string]string, cluster device.Cluster) (device.Driver, error) {
	s, err := parse(p)
	switch {
	case err != nil:
		return nil, err
	case cluster == nil:
		return nil, device.ErrNoCluster
	}
	return &fence{cluster: cluster, spec: s}, nil
}

var (
	// name is a name that Kubernetes accepts for an object.
	name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	// id is any word without a blank.
	id = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9._]{0,126}[A-Za-z0-9])?$`)
)

func parse(p map[string]string) (spec, error) {
	s := spec{Driver: strings.TrimSpace(p["driver"]), State: fenced}
	secret := secretRef{strings.TrimSpace(p["csi_secret_name"]), strings.TrimSpace(p["csi_secret_namespace"])}
	cluster := strings.TrimSpace(p["cluster_id"])
	var err error
	switch s.Cidrs, err = addresses(p["cidrs"]); {
	case err != nil:
		return s, err
	case s.Driver == "":
		return s, errors.New("driver is missing; give the name of the CSI driver, as its StorageClass has it as provisioner")
	case !name.MatchString(s.Driver):
		return s, fmt.Errorf("driver %q is not the name of a CSI driver, such as rook-ceph.rbd.csi.ceph.com", p["driver"])
	case cluster != "" && !id.MatchString(cluster):
		return s, fmt.Errorf("cluster_id %q has more in it than letters, digits, dashes, dots and underscores", p["cluster_id"])
	case (secret.Name == "") != (secret.Namespace == ""):
		return s, errors.New("csi_secret_name and csi_secret_namespace belong together; give both or none")
	case secret.Name != "" && (!name.MatchString(secret.Name) || !name.MatchString(secret.Namespace)):
		// Not shown: it may be the secret itself (S29: no secret is shown).
		return s, errors.New("csi_secret_name and csi_secret_namespace are not the names of a Secret and its namespace")
	}
	if secret.Name != "" {
		s.Secret = &secret
	}
	if cluster != "" {
		s.Parameters = map[string]string{"clusterID": cluster}
	}
	return s, nil
}

// addresses are single addresses: a wider block would cut off neighbors too (S11: the
// device is the node's own).
func addresses(text string) ([]string, error) {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		p, err := netip.ParsePrefix(word)
		if a, aerr := netip.ParseAddr(word); err != nil && aerr == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("cidrs has %q, which is no address such as 10.0.0.7 or 10.0.0.7/32", word)
		case p.Addr().Is4In6():
			return nil, fmt.Errorf("cidrs has %s, an IPv4 address in the form of IPv6; write it as IPv4", p)
		case !p.IsSingleIP():
			return nil, fmt.Errorf("cidrs has %s, which is more than one address: it would cut off other machines as well", p)
		case p.Addr().IsUnspecified() || p.Addr().IsLoopback() || p.Addr().IsMulticast():
			return nil, fmt.Errorf("cidrs has %s, which is the address of no one machine", p)
		}
		out = append(out, p.String())
	}
	if len(out) == 0 {
		return nil, errors.New("cidrs is missing; give the addresses from which the machine speaks with the storage")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (s spec) address() string {
	return "networkfence:" + s.Driver + "/" + s.Parameters["clusterID"] + "#" + strings.Join(s.Cidrs, ",")
}

// each returns every address by itself. Drivers of one storage cluster, such as those of
// Ceph's blocks and files, use one and the same blocklist.
func each(address string) []string {
	where, cidrs, _ := strings.Cut(strings.TrimPrefix(address, "networkfence:"), "#")
	if driver, cluster, _ := strings.Cut(where, "/"); cluster != "" {
		where = cluster
	} else {
		where = driver
	}
	var out []string
	for _, c := range strings.Split(cidrs, ",") {
		out = append(out, "networkfence:"+where+"#"+c)
	}
	return out
}

// object is the name of the machine's NetworkFence: its first address, for people, and a
// hash of everything that it is about, so that no two are the same.
func (s spec) object() string {
	sum := sha256.Sum256([]byte(s.address()))
	first, _, _ := strings.Cut(s.Cidrs[0], "/")
	return "nodefence-" + strings.ReplaceAll(strings.ReplaceAll(first, ".", "-"), ":", "-") + "-" + hex.EncodeToString(sum[:4])
}

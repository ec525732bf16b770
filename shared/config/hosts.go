package config

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
)

// HostsAnnotation of a Secret lists the hosts that its values may be sent to.
const HostsAnnotation = "nodefence.io/hosts"

// Secret is the part of a Secret that says where it may be sent.
type Secret struct {
	Namespace, Name string
	// Hosts is the annotation; Named is false if there is none.
	Hosts string
	Named bool
}

// SendableTo refuses hosts that a Secret does not name. Otherwise a user who may write
// ConfigMaps could have passwords sent to a host of his own (S11: the device is the node's
// own; S29: no secret is shown). Keys are the keys that would be sent.
func (s Secret) SendableTo(keys, hosts []string) error {
	allowed, err := s.patterns()
	if err != nil {
		return err
	}
	var no []string
	for _, h := range hosts {
		if !listed(allowed, h) {
			no = append(no, h)
		}
	}
	if len(no) == 0 {
		return nil
	}
	overwrite := ""
	if s.Named {
		overwrite = "--overwrite "
	}
	return fmt.Errorf("%w: Secret %s, key %s: not to be sent to %s; if that is its device: kubectl -n %s annotate secret %s %s%s='%s'",
		device.ErrNotForHost, s.Name, strings.Join(keys, ", "), strings.Join(no, ", "), s.Namespace, s.Name, overwrite, HostsAnnotation,
		strings.Join(append(allowed, no...), ","))
}

// patterns returns the entries of the annotation in one spelling.
func (s Secret) patterns() ([]string, error) {
	var out []string
	for _, e := range strings.FieldsFunc(s.Hosts, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }) {
		e = strings.TrimSuffix(strings.ToLower(e), ".")
		switch {
		case strings.Contains(e, "/"):
			if _, err := netip.ParsePrefix(e); err != nil {
				return nil, fmt.Errorf("Secret %s, annotation %s: %q is no network, such as 192.0.2.0/24", s.Name, HostsAnnotation, e)
			}
		default:
			// A * is checked as if it were an ordinary letter. path.Match has other wildcards too,
			// which host.Name takes in the zone of an IPv6 address, where a * means nothing either.
			_, err := host.Name("host", strings.ReplaceAll(e, "*", "x"))
			if err != nil || strings.ContainsAny(e, `?[]\`) || strings.Contains(e, ":") && strings.Contains(e, "*") {
				return nil, fmt.Errorf("Secret %s, annotation %s: %q is no address, no network and no host's name; the only wildcard is * in a name; write names and addresses without scheme, port and brackets", s.Name, HostsAnnotation, e)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// listed reports whether a list has a host: an address by itself or by its network, a name
// by itself or by a pattern in which * stands for letters other than a dot.
func listed(list []string, h string) bool {
	addr, err := netip.ParseAddr(h)
	for _, e := range list {
		if err != nil { // a name
			// path.Match stops a * at a slash; here it must stop at a dot.
			dots := strings.NewReplacer(".", "/")
			if ok, err := path.Match(dots.Replace(e), dots.Replace(h)); ok && err == nil && !strings.Contains(e, "/") {
				return true
			}
			continue
		}
		if a, err := netip.ParseAddr(e); err == nil && a.Unmap() == addr.Unmap() {
			return true
		}
		if n, err := netip.ParsePrefix(e); err == nil && n.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

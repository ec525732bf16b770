package host

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Name returns one spelling of a machine's address or name, IPv6 without brackets. It
// refuses an address that means this machine itself, or every machine: another machine than
// the intended one would be switched. Errors name the parameter.
func Name(param, s string) (string, error) {
	host := strings.TrimSuffix(strings.TrimSpace(s), ".")
	if host == "" {
		return "", fmt.Errorf("%s is missing", param)
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	addr, err := netip.ParseAddr(host) // a zone keeps its capitals
	addr = addr.Unmap()
	switch {
	case err == nil && (addr.IsUnspecified() || addr.IsMulticast() || addr == broadcast):
		return "", fmt.Errorf("%s %q is not one machine's", param, s)
	case err == nil:
		return addr.String(), nil
	}
	if host = strings.ToLower(host); !canBeLookedUp(host) {
		return "", fmt.Errorf("%s %q is neither an address nor a host's name", param, s)
	}
	return host, nil
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

const digits = "0123456789"

// canBeLookedUp reports whether the text can only be a name. A text that ends in a number
// is an address, and an address such as 010.0.0.7 has two readings.
func canBeLookedUp(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz-_"+digits) != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, digits) != "" && (!isHex || strings.Trim(hex, "abcdef"+digits) != "")
}

// Port is a port, or the usual one if none is given.
func Port(param, s string, usual int) (int, error) {
	if s == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%s %q is not a port", param, s)
	}
	return n, nil
}

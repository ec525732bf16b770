package redfish

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "redfish",
		Params: slices.Concat([]device.Param{
			{Name: "ip", Required: true, Machine: true, Doc: "address or name of the BMC"},
			{Name: "ipport", Machine: true, Default: "443", Doc: "TCP port of the BMC"},
			{Name: "systems_uri", Machine: true, Doc: "which system of the BMC, such as /redfish/v1/Systems/1; this or uuid"},
			{Name: "uuid", Machine: true, Doc: "which system of the BMC, by its UUID; this or systems_uri"},
			{Name: "username", Required: true, Doc: "user of the BMC"},
			{Name: "password", Required: true, Secret: true, Doc: "the user's password"},
			{Name: "auth", Default: "basic", Doc: "basic, or session"},
			{Name: "redfish_uri", Doc: "/redfish/v1, which is the only one that there is"},
		}, trust.Params()),
		// A BMC carries a command out at once, or answers 202 and does so later. No release
		// waits for this time, only a power-on does.
		EffectDelay: 30 * time.Second,
		Address:     address,
		Hosts:       host.In("ip"),
		Open:        open,
	}
}

// machine is one system of one BMC.
type machine struct {
	host string
	port int
	// One of uri and uuid may be empty. If both are given, they must agree.
	uri, uuid      string
	user, password string
	sessions       bool
	tls            *tls.Config
}

// address is redfish:host:port and the system, in lower case: otherwise, with a BMC that
// ignores case, one machine would have two addresses. All parameters that are not secret
// are checked here, because the address is asked for when a configuration is read; open is
// only called when the machine is down.
func address(p map[string]string) (string, error) {
	m, err := parse(p)
	if err != nil {
		return "", err
	}
	if m.uri != "" {
		return "redfish:" + m.at() + strings.ToLower(m.uri), nil
	}
	return "redfish:" + m.at() + "/" + m.uuid, nil
}

func open(p map[string]string) (device.Driver, error) {
	m, err := parse(p)
	if err == nil {
		err = device.Given(p, "username", "password")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

const root = "/redfish/v1"

// resource is a path with one spelling: no dots, no empty parts, nothing encoded.
var resource = regexp.MustCompile(`^` + root + `(/[A-Za-z0-9_~:@=+-][A-Za-z0-9._~:@=+-]*)+$`)

// parse reads all parameters; those from a Secret may still be missing.
func parse(p map[string]string) (*machine, error) {
	m := &machine{user: p["username"], password: p["password"]}
	var err error
	if m.host, err = host.Name("ip", p["ip"]); err != nil {
		return nil, err
	}
	if m.port, err = host.Port("ipport", p["ipport"], 443); err != nil {
		return nil, err
	}
	if err := m.choose(p["systems_uri"], p["uuid"]); err != nil {
		return nil, err
	}
	if u := strings.TrimSuffix(p["redfish_uri"], "/"); u != "" && u != root {
		return nil, fmt.Errorf("redfish_uri %q is not %s", p["redfish_uri"], root)
	}
	switch p["auth"] {
	case "", "basic":
		if strings.Contains(m.user, ":") {
			return nil, errors.New("username has a colon, which auth=basic can't say; write auth=session")
		}
	case "session":
		m.sessions = true
	default:
		return nil, fmt.Errorf("auth %q is not basic or session", p["auth"])
	}
	m.tls, err = trust.Config(p)
	return m, err
}

// choose reads which system is meant. It never defaults to the system that a BMC lists
// last, or alone (S11: the device is the node's own).
func (m *machine) choose(uri, uuid string) error {
	m.uri = strings.TrimSuffix(strings.TrimSpace(uri), "/")
	switch {
	case m.uri == "" && strings.TrimSpace(uuid) == "":
		return errors.New("systems_uri and uuid are both missing: say which system of the BMC is meant, by one of them")
	case m.uri == root+"/Systems":
		return fmt.Errorf("systems_uri %q is the list of all systems; name one of them, such as %s/Systems/1", uri, root)
	case m.uri != "" && !resource.MatchString(m.uri):
		return fmt.Errorf("systems_uri %q is not the path of a system, such as %s/Systems/1", uri, root)
	}
	if strings.TrimSpace(uuid) == "" {
		return nil
	}
	var err error
	m.uuid, err = device.UUID("uuid", uuid)
	return err
}

// at is host and port, in the form of URLs.
func (m *machine) at() string { return net.JoinHostPort(m.host, strconv.Itoa(m.port)) }

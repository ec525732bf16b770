package openstack

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/rest"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "openstack",
		Params: slices.Concat([]device.Param{
			{Name: "uuid", Required: true, Machine: true, Doc: "UUID of the server; that of the node's provider ID if not given"},
			{Name: "auth_url", Doc: "URL of Keystone's version 3, such as https://keystone.example:5000/v3"},
			{Name: "region", Doc: "region, where the catalog has several"},
			{Name: "project_name", Doc: "project of the user, or of the application credential"},
			{Name: "user_domain_name", Default: "Default", Doc: "domain of the user"},
			{Name: "project_domain_name", Default: "Default", Doc: "domain of the project"},
			{Name: "username", Required: true, Doc: "the user"},
			{Name: "password", Required: true, Secret: true, Doc: "the user's password"},
		}, trust.Params()),
		// Nova carries out one task of a server at a time, and does not start a server that
		// is being stopped. What is left is its queue.
		EffectDelay: 60 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Hosts:       hosts,
		Identity:    "uuid",
		Cloud:       cloud,
		Open:        open,
	}
}

// machine is one server.
type machine struct {
	uuid, keystone, region     string
	project, domain, ofProject string
	user, password             string
	tls                        *tls.Config
}

// address is openstack:<UUID>, whichever URL is used. All parameters that are not secret
// are checked here, because the address is asked for when a configuration is read; open is
// only called when the machine is down.
func address(p map[string]string) (string, error) {
	m, err := parse(p)
	if err != nil {
		return "", err
	}
	return "openstack:" + m.uuid, nil
}

// hosts is Keystone's host. Nova's host comes from Keystone's own answer, and receives a
// token.
func hosts(p map[string]string) ([]string, error) {
	m, err := parse(p)
	if err != nil {
		return nil, err
	}
	return host.Of(m.keystone)
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

// parse reads all parameters; those from a Secret may still be missing.
func parse(p map[string]string) (*machine, error) {
	m := &machine{
		region: p["region"], project: p["project_name"], domain: p["user_domain_name"], ofProject: p["project_domain_name"],
		user: p["username"], password: p["password"],
	}
	var err error
	if m.uuid, err = device.UUID("uuid", p["uuid"]); err != nil {
		return nil, fmt.Errorf("%w; give the server's, its name is not taken", err)
	}
	if m.keystone, err = rest.Endpoint("auth_url", p["auth_url"], ""); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(m.keystone, "/v3") {
		m.keystone += "/v3"
	}
	if m.project == "" {
		return nil, errors.New("project_name is missing; a token without a project has no servers")
	}
	for _, d := range []*string{&m.domain, &m.ofProject} {
		if *d == "" {
			*d = "Default"
		}
	}
	m.tls, err = trust.Config(p)
	return m, err
}

// cloud reads openstack:///<UUID> and openstack://<region>/<UUID>.
func cloud(providerID string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(providerID, "openstack://")
	region, id, two := strings.Cut(rest, "/")
	uuid, err := device.UUID("uuid", id)
	if !ok || !two || err != nil {
		return nil, false
	}
	p := map[string]string{"uuid": uuid}
	if region != "" {
		p["region"] = region
	}
	return p, true
}

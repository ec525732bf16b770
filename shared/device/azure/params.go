package azure

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	hostnames "github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// Kind declares the driver.
func Kind() device.Kind {
	return device.Kind{
		Name: "azure",
		Params: []device.Param{
			{Name: "vm", Required: true, Machine: true, Doc: "name of the virtual machine; that of the node's provider ID if not given"},
			{Name: "resourceGroup", Machine: true, Doc: "its resource group; that of the node's provider ID if not given"},
			{Name: "subscriptionId", Machine: true, Doc: "its subscription; that of the node's provider ID if not given"},
			{Name: "vm_id", Machine: true, Doc: "the machine's vmId; the node's enrolled system UUID says the same if not given"},
			{Name: "tenantId", Doc: "the directory of the application that switches"},
			{Name: "username", Doc: "the application's (client) ID; this machine's managed identity if not given"},
			{Name: "password", Secret: true, Doc: "the application's secret"},
			{Name: "endpoint", Doc: "URL of Resource Manager, if it is not " + manager},
			{Name: "authority", Doc: "URL that gives out tokens, if it is not " + login},
		},
		// Azure carries out one power operation of a machine at a time. A start during a
		// stop waits for the stop or is refused. What is left is that an instance view may
		// be some seconds old.
		EffectDelay: 60 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Hosts:       hosts,
		Cloud:       cloud,
		Open:        open,
	}
}

const (
	manager = "https://management.azure.com"
	login   = "https://login.microsoftonline.com"
)

// machine is one virtual machine.
type machine struct {
	subscription, group, name string
	// id is empty if only the caller compares identities.
	id                     string
	tenant, client, secret string
	endpoint, authority    string
}

// address is azure:<subscription>/<group>/<name> in lower case, as Azure compares names.
// All parameters that are not secret are checked here, because the address is asked for
// when a configuration is read; open is only called when the machine is down.
func address(p map[string]string) (string, error) {
	m, err := parse(p)
	if err != nil {
		return "", err
	}
	return strings.ToLower("azure:" + m.subscription + "/" + m.group + "/" + m.name), nil
}

// hosts are Resource Manager's, and the token server's, which receives the secret.
func hosts(p map[string]string) ([]string, error) {
	m, err := parse(p)
	if err != nil {
		return nil, err
	}
	return hostnames.Of(m.endpoint, m.authority)
}

func open(p map[string]string) (device.Driver, error) {
	m, err := parse(p)
	if err != nil {
		return nil, err
	}
	m.secret = p["password"]
	switch {
	case m.client == "" && m.secret != "":
		return nil, errors.New("username is missing; password needs the application's ID")
	case m.client != "" && m.secret == "":
		return nil, errors.New("password is missing; username needs the application's secret")
	case m.client != "" && m.tenant == "":
		return nil, errors.New("tenantId is missing; say in which directory the application is")
	}
	return m, nil
}

var (
	groupName = regexp.MustCompile(`^[-\w.()]{0,89}[-\w()]$`)
	vmName    = regexp.MustCompile(`^[A-Za-z0-9]([-\w.]{0,62}\w)?$`)
	tenant    = regexp.MustCompile(`^[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$`)
)

// parse reads all parameters; the secret one may still be missing.
func parse(p map[string]string) (*machine, error) {
	m := &machine{
		group: strings.TrimSpace(p["resourceGroup"]), name: strings.TrimSpace(p["vm"]),
		tenant: strings.TrimSpace(p["tenantId"]), client: strings.TrimSpace(p["username"]),
	}
	var err error
	switch {
	case m.name == "":
		return nil, errors.New("vm is missing; give the machine's name, or let the node be enrolled with its provider ID")
	case !vmName.MatchString(m.name):
		return nil, fmt.Errorf("vm %q is not the name of a virtual machine; those of scale sets of the uniform kind are not taken", p["vm"])
	case m.group == "":
		return nil, errors.New("resourceGroup is missing; give the machine's, or let the node be enrolled with its provider ID")
	case !groupName.MatchString(m.group):
		return nil, fmt.Errorf("resourceGroup %q is not the name of a resource group", p["resourceGroup"])
	case m.tenant != "" && !tenant.MatchString(m.tenant):
		return nil, fmt.Errorf("tenantId %q is neither a directory's ID nor its domain", p["tenantId"])
	}
	if m.subscription, err = device.UUID("subscriptionId", p["subscriptionId"]); err != nil {
		return nil, err
	}
	if p["vm_id"] != "" {
		if m.id, err = device.UUID("vm_id", p["vm_id"]); err != nil {
			return nil, err
		}
	}
	if m.client != "" {
		if m.client, err = device.UUID("username", m.client); err != nil {
			return nil, err
		}
	}
	if m.endpoint, err = host("endpoint", p["endpoint"], manager); err != nil {
		return nil, err
	}
	m.authority, err = host("authority", p["authority"], login)
	return m, err
}

func host(param, s, usual string) (string, error) {
	s, err := rest.Endpoint(param, s, usual)
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(s); err != nil || u.Path != "" {
		return "", errors.New(param + " has a path; give scheme and host")
	}
	return s, nil
}

// cloud reads azure:///subscriptions/<id>/resourceGroups/<group>/providers/
// Microsoft.Compute/virtualMachines/<name>. A machine of a scale set has another
// form, and another API.
func cloud(providerID string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(providerID, "azure:///")
	part := strings.Split(rest, "/")
	if !ok || len(part) != 8 {
		return nil, false
	}
	for i, word := range map[int]string{0: "subscriptions", 2: "resourceGroups", 4: "providers", 5: "Microsoft.Compute", 6: "virtualMachines"} {
		if !strings.EqualFold(part[i], word) {
			return nil, false
		}
	}
	p := map[string]string{"subscriptionId": part[1], "resourceGroup": part[3], "vm": part[7]}
	if _, err := address(p); err != nil {
		return nil, false
	}
	return p, true
}

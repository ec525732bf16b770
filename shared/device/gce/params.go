package gce

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// Metadata is the host where a Google instance learns its own identity.
const Metadata = "169.254.169.254"

// Kind declares the driver, for a process whose metadata server is this host: Metadata, or
// a replacement, with its port.
func Kind(metadata string) device.Kind {
	return device.Kind{
		Name: "gce",
		Params: []device.Param{
			{Name: "instance", Required: true, Machine: true, Doc: "name of the instance; that of the node's provider ID if not given"},
			{Name: "zone", Machine: true, Doc: "zone of the instance; that of the node's provider ID if not given"},
			{Name: "project", Machine: true, Doc: "ID of the project; that of the node's provider ID if not given"},
			{Name: "id", Machine: true, Doc: "the instance's numeric ID, by which a new one of its name is seen to be another"},
			{Name: "key", Secret: true, Doc: "a service account's key, JSON in one line; the metadata server's account if not given"},
			{Name: "endpoint", Doc: "URL of the API, if it is not " + compute},
			{Name: "token_uri", Doc: "URL that gives out tokens, if it is not " + tokens},
		},
		// An instance is not started before it is stopped, so that no stop can take effect
		// after a start. What is left is that the API shows changes late.
		EffectDelay: 30 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Hosts:       hosts,
		Identity:    "id",
		Cloud:       cloud,
		Open:        func(p map[string]string) (device.Driver, error) { return open(p, metadata) },
	}
}

const (
	compute = "https://compute.googleapis.com"
	tokens  = "https://oauth2.googleapis.com/token"
)

// instance is one machine.
type instance struct {
	project, zone, name string
	// id is empty if only the name is compared.
	id               string
	endpoint, tokens string
	// key is nil for the account of the metadata server at that host.
	key      *accountKey
	metadata string
}

// address is gce:<project>/<zone>/<instance>. All parameters that are not secret are
// checked here, because the address is asked for when a configuration is read; open is only
// called when the machine is down.
func address(p map[string]string) (string, error) {
	i, err := parse(p)
	if err != nil {
		return "", err
	}
	return "gce:" + i.project + "/" + i.zone + "/" + i.name, nil
}

// hosts are the API's, and the token server's, which receives what the key has signed.
func hosts(p map[string]string) ([]string, error) {
	i, err := parse(p)
	if err != nil {
		return nil, err
	}
	return host.Of(i.endpoint, i.tokens)
}

func open(p map[string]string, metadata string) (device.Driver, error) {
	i, err := parse(p)
	if err != nil {
		return i, err
	}
	i.metadata = metadata
	if p["key"] != "" {
		i.key, err = parseKey(p["key"])
		return i, err
	}
	return i, i.google()
}

// google refuses to send this process's own token to another host: the token is valid for
// more than one instance, and no Secret says where it may be sent (S29: no secret is
// shown).
func (i *instance) google() error {
	at, err := host.Of(i.endpoint)
	if err == nil && !strings.HasSuffix(at[0], ".googleapis.com") && at[0] != "127.0.0.1" && at[0] != "::1" {
		err = errors.New("endpoint is not Google's; without a key it would be sent the token of nodefence's own account")
	}
	return err
}

var (
	projectID = regexp.MustCompile(`^([a-z][-a-z0-9.]*:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$`)
	zoneName  = regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+-[a-z]$`)
	name      = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	numericID = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)
)

// parse reads all parameters; the secret one may still be missing.
func parse(p map[string]string) (*instance, error) {
	i := &instance{}
	for _, f := range []struct {
		name, what string
		form       *regexp.Regexp
		into       *string
	}{
		{"instance", "an instance", name, &i.name},
		{"zone", "a zone, such as europe-west1-b", zoneName, &i.zone},
		{"project", "a project's ID", projectID, &i.project},
		{"id", "an instance's numeric ID", numericID, &i.id},
	} {
		*f.into = strings.TrimSpace(p[f.name])
		switch {
		case *f.into == "" && f.name == "id":
		case *f.into == "":
			return nil, fmt.Errorf("%s is missing; give the instance's, or let the node be enrolled with its provider ID", f.name)
		case !f.form.MatchString(*f.into):
			return nil, fmt.Errorf("%s %q is not the name of %s", f.name, p[f.name], f.what)
		}
	}
	var err error
	if i.endpoint, err = rest.Endpoint("endpoint", p["endpoint"], compute); err != nil {
		return nil, err
	}
	i.tokens, err = rest.Endpoint("token_uri", p["token_uri"], tokens)
	if u, perr := url.Parse(i.endpoint); err == nil && perr == nil && u.Path != "" {
		err = errors.New("endpoint has a path; give scheme and host")
	}
	return i, err
}

// cloud reads gce://<project>/<zone>/<instance>.
func cloud(providerID string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(providerID, "gce://")
	part := strings.Split(rest, "/")
	if !ok || len(part) != 3 || !projectID.MatchString(part[0]) || !zoneName.MatchString(part[1]) || !name.MatchString(part[2]) {
		return nil, false
	}
	return map[string]string{"project": part[0], "zone": part[1], "instance": part[2]}, true
}

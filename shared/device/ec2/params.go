package ec2

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/host"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// Kind declares the driver. All drivers that it opens share the credentials that AWS gave
// this process, for as long as they are valid.
func Kind() device.Kind {
	own := &account{}
	return device.Kind{
		Name: "ec2",
		Params: []device.Param{
			{Name: "instance", Required: true, Machine: true, Doc: "instance ID, i-...; that of the node's provider ID if not given"},
			// Not marked as required: a required parameter could be put into a Secret,
			// where the address could not read it.
			{Name: "region", Doc: "region of the instance; that of the node's provider ID if not given"},
			{Name: "endpoint", Doc: "URL of the API, if it is not the region's own"},
			{Name: "access_key", Secret: true, Doc: "access key ID; this process's own AWS identity if not given"},
			{Name: "secret_key", Secret: true, Doc: "the secret access key that belongs to it"},
		},
		// An accepted stop shows as stopping, and an instance is not started before it is
		// stopped, so that no stop can take effect after a start. What is left is that the
		// API shows changes late: by seconds, according to AWS. Instances take about as
		// long to stop, so that a power-on seldom waits for this.
		EffectDelay: 30 * time.Second,
		Lead:        device.AtOnce,
		Address:     address,
		Hosts:       hosts,
		Identity:    "instance",
		Cloud:       cloud,
		Open:        func(p map[string]string) (device.Driver, error) { return open(p, own) },
	}
}

// address is ec2:<region>/<instance>. All parameters that are not secret are checked here,
// because the address is asked for when a configuration is read; open is only called when
// the machine is down.
func address(p map[string]string) (string, error) {
	i, err := parse(p)
	if err != nil {
		return "", err
	}
	return i.address(), nil
}

// hosts is the API's host: the region's own, unless an endpoint is given.
func hosts(p map[string]string) ([]string, error) {
	i, err := parse(p)
	if err != nil {
		return nil, err
	}
	at := i.endpoint
	if at == "" {
		usual, err := sdk.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), sdk.EndpointParameters{Region: aws.String(i.region)})
		if err != nil {
			return nil, fmt.Errorf("region %s: %w", i.region, err)
		}
		at = usual.URI.String()
	}
	return host.Of(at)
}

func open(p map[string]string, own *account) (device.Driver, error) {
	i, err := parse(p)
	if err == nil {
		err = i.identify(p, own)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// identify finds the credentials to use.
func (i *instance) identify(p map[string]string, own *account) error {
	i.own, i.accessKey, i.secretKey = own, p["access_key"], p["secret_key"]
	switch {
	case i.accessKey != "" && i.secretKey == "":
		return errors.New("secret_key is missing; access_key needs it")
	case i.accessKey == "" && i.secretKey != "":
		return errors.New("access_key is missing; secret_key needs it")
	}
	return nil
}

var (
	instanceID = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)
	regionName = regexp.MustCompile(`^[a-z]+(-[a-z]+)+-[0-9]+$`)
	// zoneName is a region and a letter, or a local or wavelength zone's suffix.
	zoneName = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)+-[0-9]+)(?:[a-z]|-[a-z0-9-]+)$`)
)

// parse reads all parameters; the secret ones may still be missing.
func parse(p map[string]string) (*instance, error) {
	i := &instance{id: spelt(p["instance"]), region: spelt(p["region"]), endpoint: strings.TrimSpace(p["endpoint"])}
	switch {
	case i.id == "":
		return nil, errors.New("instance is missing; give the instance ID, i-..., or let the node be enrolled with its provider ID")
	case !instanceID.MatchString(i.id):
		return nil, fmt.Errorf("instance %q is not an instance ID: i- and 8 or 17 hexadecimal digits", p["instance"])
	case i.region == "":
		return nil, errors.New("region is missing; give the instance's, or let the node be enrolled with its provider ID")
	case !regionName.MatchString(i.region):
		return nil, fmt.Errorf("region %q is not the name of a region, such as eu-west-1", p["region"])
	}
	return i, i.checkEndpoint()
}

// checkEndpoint accepts a host's URL, with TLS unless it is this very machine: a session's
// token is sent there, and without TLS anybody can say that a machine is stopped (S2). The
// other parts of a URL are credentials or not used.
func (i *instance) checkEndpoint() error {
	if i.endpoint == "" {
		return nil
	}
	s, err := rest.Endpoint("endpoint", i.endpoint, "")
	if err != nil {
		return err
	}
	if u, err := url.Parse(s); err != nil || u.Path != "" {
		return errors.New("endpoint has more than a scheme, a host and a port")
	}
	return nil
}

func spelt(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func (i *instance) address() string { return "ec2:" + i.region + "/" + i.id }

// cloud reads aws:///<zone>/<instance>. Nodes without an instance, such as Fargate's, have
// provider IDs of another form.
func cloud(providerID string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	zone, id, two := strings.Cut(rest, "/")
	if !ok || !two || !instanceID.MatchString(id) {
		return nil, false
	}
	p := map[string]string{"instance": id}
	if m := zoneName.FindStringSubmatch(zone); m != nil {
		p["region"] = m[1]
	} else if zone != "" {
		return nil, false
	}
	return p, true
}

package openstack

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// named is a name in a domain, in Keystone's form.
func named(name, domain string) map[string]any {
	return map[string]any{"name": name, "domain": map[string]string{"name": domain}}
}

// enter gets a token, and Nova's URL. Any answer but a success is a refusal of the account,
// unless nobody answered.
func (c *conversation) enter(ctx context.Context) error {
	user := named(c.m.user, c.m.domain)
	user["password"] = c.m.password
	var got struct {
		Token struct {
			Catalog []service `json:"catalog"`
		} `json:"token"`
	}
	header, err := c.Do(ctx, rest.Request{
		What: "get a token", Method: http.MethodPost, URL: c.m.keystone + "/auth/tokens",
		Body: map[string]any{"auth": map[string]any{
			"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}},
			"scope":    map[string]any{"project": named(c.m.project, c.m.ofProject)},
		}},
	}, &got)
	switch {
	case errors.Is(err, device.ErrUnreachable), errors.Is(err, device.ErrUnsupported):
		return err
	case err != nil:
		return rest.As(device.ErrDenied, err)
	case header.Get("X-Subject-Token") == "":
		return c.Errorf(device.ErrUnsupported, "get a token: the answer has none; is it Keystone's version 3?")
	}
	c.Hide(header.Get("X-Subject-Token"))
	c.Header.Set("X-Auth-Token", header.Get("X-Subject-Token"))
	c.Header.Set("OpenStack-API-Version", "compute "+version)
	c.Header.Set("X-OpenStack-Nova-API-Version", version)
	c.nova, err = c.find(got.Token.Catalog)
	return err
}

// service is an entry of the catalog.
type service struct {
	Type      string
	Endpoints []struct{ Interface, Region, URL string }
}

// find returns Nova's public URL. If there are two regions, neither is used.
func (c *conversation) find(catalog []service) (string, error) {
	found := ""
	for _, s := range catalog {
		for _, e := range s.Endpoints {
			if s.Type != "compute" || e.Interface != "public" || (c.m.region != "" && e.Region != c.m.region) {
				continue
			}
			if found != "" {
				return "", c.Errorf(device.ErrUnknown, "the catalog has compute services in several regions; name one of them by region")
			}
			found = e.URL
		}
	}
	if found == "" {
		return "", c.Errorf(device.ErrUnknown, "the catalog has no compute service in region %q for project %s", c.m.region, c.m.project)
	}
	return c.trusted(found)
}

// trusted is an endpoint with TLS, as Keystone's is: the token is sent there.
func (c *conversation) trusted(s string) (string, error) {
	s, err := rest.Endpoint("the catalog's compute URL", s, "")
	if err != nil {
		return "", c.Errorf(device.ErrUnsupported, "%v", err)
	}
	if u, err := url.Parse(s); err != nil || (u.Scheme == "http" && !strings.HasPrefix(c.m.keystone, "http:")) {
		return "", c.Errorf(device.ErrUnsupported, "the catalog's compute URL is without TLS")
	}
	return s, nil
}

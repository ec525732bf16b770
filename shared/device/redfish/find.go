package redfish

import (
	"context"
	"net/http"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// system reads the intended system.
func (c *conversation) system(ctx context.Context) (*system, error) {
	if c.m.uri != "" {
		return c.byURI(ctx)
	}
	return c.byUUID(ctx)
}

// byURI also compares the system's UUID, if one was given.
func (c *conversation) byURI(ctx context.Context) (*system, error) {
	s, err := c.read(ctx, c.m.uri)
	if err != nil {
		return nil, err
	}
	if c.m.uuid != "" && !device.SameIdentity(c.m.uuid, s.UUID) {
		return nil, c.errorf(device.ErrUnknown, "system %s has UUID %q, configured is %s", s.uri, s.UUID, c.m.uuid)
	}
	return s, nil
}

// most bounds a search: so many systems, and so many pages of their list.
const most = 64

// byUUID reads all systems, because with two systems of one UUID neither is accepted. A
// system that can't be read might be the second.
func (c *conversation) byUUID(ctx context.Context) (*system, error) {
	uris, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var found *system
	for _, uri := range uris {
		s, err := c.read(ctx, uri)
		switch {
		case err != nil:
			return nil, err
		case !device.SameIdentity(c.m.uuid, s.UUID):
		case found != nil:
			return nil, c.errorf(device.ErrUnknown, "systems %s and %s both have UUID %s; name one of them by systems_uri", found.uri, s.uri, c.m.uuid)
		default:
			found = s
		}
	}
	if found == nil {
		return nil, c.errorf(device.ErrUnknown, "none of the BMC's %d systems has UUID %s", len(uris), c.m.uuid)
	}
	return found, nil
}

// link is how one resource refers to another.
type link struct {
	ID string `json:"@odata.id"`
}

// list returns the URIs of all systems.
func (c *conversation) list(ctx context.Context) ([]string, error) {
	var service struct{ Systems link }
	if err := c.get(ctx, "read the service", root+"/", &service); err != nil {
		return nil, err
	}
	var uris []string
	next := service.Systems.ID
	if next == "" {
		return nil, c.errorf(device.ErrUnsupported, "the BMC has no list of systems")
	}
	for pages := 0; next != ""; pages++ {
		var page struct {
			Members []link
			Next    string `json:"Members@odata.nextLink"`
		}
		if err := c.get(ctx, "list the systems", next, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Members {
			uris = append(uris, m.ID)
		}
		if len(uris) > most || pages > most {
			return nil, c.errorf(device.ErrUnsupported, "the BMC has more than %d systems; name one of them by systems_uri", most)
		}
		next = page.Next
	}
	return uris, nil
}

// read reads one system. It refuses other resources with a power state, such as a chassis.
func (c *conversation) read(ctx context.Context, uri string) (*system, error) {
	s := &system{uri: uri}
	if err := c.get(ctx, "read system "+uri, uri, s); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(s.Type, "#ComputerSystem.") {
		return nil, c.errorf(device.ErrUnknown, "%s is no computer system, but %q", uri, s.Type)
	}
	return s, nil
}

func (c *conversation) get(ctx context.Context, what, uri string, into any) error {
	a, err := c.do(ctx, what, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	return c.decode(what, a, into)
}

package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// version is Nova's microversion, of the release Mitaka: the first in which a
// server tells the status of its host.
const version = "2.16"

// conversation is one call's conversation about one server.
type conversation struct {
	*rest.Talk
	m    *machine
	nova string
}

// talk does one thing and leaves nothing behind.
func (m *machine) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	c := &conversation{Talk: &rest.Talk{About: "server " + m.uuid, Said: said}, m: m}
	c.Open(m.tls)
	defer c.End()
	c.Hide(m.password)
	if err := c.enter(ctx); err != nil {
		return err
	}
	return do(ctx, c)
}

// State reads the server's status while Nova is connected to it.
func (m *machine) State(ctx context.Context) (r device.Reading, err error) {
	err = m.talk(ctx, func(ctx context.Context, c *conversation) error {
		r, err = device.Arrived(ctx, c.state)
		return err
	})
	return r, err
}

func (c *conversation) state(ctx context.Context) (device.Reading, error) {
	s, err := c.get(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	p, err := c.power(ctx, s)
	if err != nil {
		return device.Reading{}, err
	}
	return device.Reading{Power: p, Identity: s.ID}, nil
}

// Off stops the server. Nova first asks the operating system to shut down, for as long as
// the operator of the cloud has set, and then cuts the power.
func (m *machine) Off(ctx context.Context) error { return m.change(ctx, "os-stop", device.Off) }

// On starts the server.
func (m *machine) On(ctx context.Context) error { return m.change(ctx, "os-start", device.On) }

// change sends one command, once. It sends none to a server that is as wanted already (S9:
// read first, then act), and none that nobody would carry out: it would wait in a queue for
// the host.
func (m *machine) change(ctx context.Context, action string, goal device.Power) error {
	return m.talk(ctx, func(ctx context.Context, c *conversation) error {
		s, err := c.get(ctx)
		if err != nil {
			return err
		}
		p, err := c.power(ctx, s)
		switch {
		case err != nil && !errors.Is(err, device.ErrUnsupported):
			return err
		case goal == device.On && (s.Status == "PAUSED" || s.Status == "SUSPENDED"):
			return c.Errorf(device.ErrConflict, "it is %s: it would go on where it was, with what it had in memory; stop it first", s.Status)
		case p == goal:
			return nil
		}
		_, err = c.Do(ctx, rest.Request{What: action, Method: http.MethodPost, URL: c.url() + "/action", Body: map[string]any{action: nil}}, nil)
		return rest.Told(err, goal, func() (device.Reading, error) { return c.state(ctx) })
	})
}

// server is the part of a server that is used.
type server struct {
	ID, Status string
	Task       *string `json:"OS-EXT-STS:task_state"`
	// Power is the hypervisor's state, as Nova last heard it.
	Power *int `json:"OS-EXT-STS:power_state"`
	// HostStatus is UP, UNKNOWN, DOWN, MAINTENANCE or empty, for accounts that may see it.
	HostStatus *string `json:"host_status"`
	// Host is the name of its compute service, for accounts that may see it.
	Host string `json:"OS-EXT-SRV-ATTR:host"`
}

func (c *conversation) url() string { return c.nova + "/servers/" + c.m.uuid }

func (c *conversation) get(ctx context.Context) (server, error) {
	var got struct{ Server server }
	_, err := c.Do(ctx, rest.Request{What: "read it", Method: http.MethodGet, URL: c.url()}, &got)
	if err == nil && got.Server.ID == "" {
		err = c.Errorf(device.ErrUnsupported, "read it: the answer has no ID")
	}
	got.Server.ID = rest.Line(got.Server.ID)
	return got.Server, err
}

// The hypervisor's states.
const (
	running  = 1
	shutdown = 4
)

// power accepts Nova's answer if its host is connected, no task is under way, and Nova and
// the hypervisor say the same.
func (c *conversation) power(ctx context.Context, s server) (device.Power, error) {
	if err := c.connected(ctx, s); err != nil {
		return device.Unknown, err
	}
	if s.Task != nil {
		switch *s.Task {
		case "powering-off", "shelving", "soft-deleting", "deleting", "suspending", "shelving_offloading":
			return device.Unknown, c.Errorf(device.ErrStopping, "its task is %s", *s.Task)
		case "powering-on":
			return device.On, nil
		}
		return device.Unknown, c.Errorf(device.ErrUnreachable, "its task is %s; what it is after that is not known yet", rest.Line(*s.Task))
	}
	power := -1
	if s.Power != nil {
		power = *s.Power
	}
	switch {
	case s.Status == "SHUTOFF" && power == shutdown:
		return device.Off, nil
	case s.Status == "ACTIVE" && power == running, s.Status == "PAUSED", s.Status == "SUSPENDED", s.Status == "RESCUE", s.Status == "PASSWORD":
		return device.On, nil // a paused or suspended server continues where it was (S2)
	case s.Status == "SHUTOFF", s.Status == "ACTIVE":
		return device.Unknown, c.Errorf(device.ErrUnreachable, "Nova calls it %s, and the hypervisor's word is power state %d; nobody knows whether it runs", s.Status, power)
	}
	return device.Unknown, c.Errorf(device.ErrUnsupported, "it is %s, which is neither on nor off", rest.Line(s.Status))
}

// connected reports whether the compute service of the server's host is up now. An account
// that can see this in the server's status need not ask for the services.
func (c *conversation) connected(ctx context.Context, s server) error {
	const memory = "; what is known of it is a memory"
	switch {
	case s.HostStatus != nil && *s.HostStatus == "UP":
		return nil
	case s.HostStatus != nil && *s.HostStatus != "":
		return c.Errorf(device.ErrUnreachable, "its host is %s%s", rest.Line(*s.HostStatus), memory)
	case s.HostStatus != nil:
		return c.Errorf(device.ErrUnreachable, "it is on no host%s", memory)
	case s.Host == "":
		return c.Errorf(device.ErrDenied, "this user may see neither the status nor the name of its host, without which Nova's word is no proof; give it the role to see host_status")
	}
	var got struct {
		Services []struct {
			State  string
			Host   string
			Forced bool `json:"forced_down"`
		}
	}
	u := c.nova + "/os-services?binary=nova-compute&host=" + url.QueryEscape(s.Host)
	if _, err := c.Do(ctx, rest.Request{What: "read the compute service of its host", Method: http.MethodGet, URL: u}, &got); err != nil {
		return err
	}
	if len(got.Services) != 1 || got.Services[0].Host != s.Host {
		return c.Errorf(device.ErrUnreachable, "%d compute services are named as its host%s", len(got.Services), memory)
	}
	if it := got.Services[0]; it.State != "up" || it.Forced {
		return c.Errorf(device.ErrUnreachable, "the compute service of its host is down%s", memory)
	}
	return nil
}

// said reads the error answers of Nova and Keystone: one member with a message, whatever
// its name.
func said(body []byte) (code, text string) {
	var a map[string]struct {
		Title, Message string
	}
	if json.Unmarshal(body, &a) != nil {
		return "", ""
	}
	for name, e := range a {
		if name == "error" {
			name = e.Title
		}
		return name, e.Message
	}
	return "", ""
}

package azure

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// conversation is one call's conversation about one machine.
type conversation struct {
	*rest.Talk
	m *machine
}

// talk does one thing and leaves nothing behind.
func (m *machine) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	c := &conversation{&rest.Talk{About: "virtual machine " + m.name + " in " + m.group, Said: said, Kinds: kinds}, m}
	c.Open(&tls.Config{})
	defer c.End()
	c.Hide(m.secret, url.QueryEscape(m.secret))
	if err := c.enter(ctx); err != nil {
		return err
	}
	return do(ctx, c)
}

// metadata is where a machine of Azure learns its own identity.
const metadata = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="

// enter gets a token for the requests that follow. Any answer but a success is a refusal of
// the account, unless nobody answered.
func (c *conversation) enter(ctx context.Context) error {
	r := rest.Request{
		What: "get a token", Method: http.MethodPost, URL: c.m.authority + "/" + c.m.tenant + "/oauth2/v2.0/token",
		Form: url.Values{
			"grant_type": {"client_credentials"}, "client_id": {c.m.client}, "client_secret": {c.m.secret},
			"scope": {c.m.endpoint + "/.default"},
		},
	}
	if c.m.client == "" {
		r = rest.Request{What: "get a token for this machine's identity", Method: http.MethodGet, URL: metadata + url.QueryEscape(c.m.endpoint)}
		c.Header.Set("Metadata", "true")
	}
	defer c.Header.Del("Metadata")
	return c.Bearer(ctx, r)
}

// State reads the machine's power state and vmId.
func (m *machine) State(ctx context.Context) (r device.Reading, err error) {
	err = m.talk(ctx, func(ctx context.Context, c *conversation) error {
		r, err = device.Arrived(ctx, c.state)
		return err
	})
	return r, err
}

func (c *conversation) state(ctx context.Context) (device.Reading, error) {
	v, err := c.get(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	p, err := c.power(v)
	if err != nil {
		return device.Reading{}, err
	}
	return device.Reading{Power: p, Identity: v.ID}, nil
}

// Off cuts the power without asking the operating system. The machine stays allocated:
// deallocation would lose its temporary disk, and its place.
func (m *machine) Off(ctx context.Context) error {
	return m.change(ctx, "powerOff", device.Off, "skipShutdown=true&")
}

// On starts the machine.
func (m *machine) On(ctx context.Context) error { return m.change(ctx, "start", device.On, "") }

// change sends one command, once. It sends none to a machine that is as wanted already (S9:
// read first, then act), or that is another machine than the intended one (S11).
func (m *machine) change(ctx context.Context, verb string, goal device.Power, query string) error {
	return m.talk(ctx, func(ctx context.Context, c *conversation) error {
		v, err := c.get(ctx)
		if err != nil {
			return err
		}
		if m.id != "" && !device.SameIdentity(v.ID, m.id) {
			return c.Errorf(device.ErrUnknown, "it has vmId %s, configured is %s: another one has its name", rest.Line(v.ID), m.id)
		}
		switch p, perr := c.power(v); {
		case p == goal:
			return nil
		case errors.Is(perr, device.ErrStopping), errors.Is(perr, device.ErrConflict): // nothing makes it faster; nothing here ends its sleep
			return perr
		}
		return rest.Told(c.command(ctx, verb, query), goal, func() (device.Reading, error) { return c.state(ctx) })
	})
}

// virtual is the part of a virtual machine that is used.
type virtual struct {
	// ID is its vmId.
	ID string
	// powers are its codes of the power family, of which it should have one.
	powers []string
	// asleep is its code for hibernation, if it has one.
	asleep string
}

// version is that of Resource Manager's compute API.
const version = "2024-07-01"

func (c *conversation) url(verb, query string) string {
	return c.m.url() + verb + "?" + query + "api-version=" + version
}

func (m *machine) url() string {
	return m.endpoint + "/subscriptions/" + m.subscription + "/resourceGroups/" + url.PathEscape(m.group) +
		"/providers/Microsoft.Compute/virtualMachines/" + url.PathEscape(m.name)
}

// get reads the vmId and the instance view in one request.
func (c *conversation) get(ctx context.Context) (virtual, error) {
	var got struct {
		Properties struct {
			ID   string `json:"vmId"`
			View struct {
				Statuses []struct {
					Code string `json:"code"`
				} `json:"statuses"`
			} `json:"instanceView"`
		} `json:"properties"`
	}
	_, err := c.Do(ctx, rest.Request{What: "read it", Method: http.MethodGet, URL: c.url("", "$expand=instanceView&")}, &got)
	v := virtual{ID: rest.Line(got.Properties.ID)}
	for _, s := range got.Properties.View.Statuses {
		if code, ok := strings.CutPrefix(s.Code, "PowerState/"); ok {
			v.powers = append(v.powers, rest.Line(code))
		}
		if code, ok := strings.CutPrefix(s.Code, "HibernationState/"); ok {
			v.asleep = rest.Line(code)
		}
	}
	if err == nil && v.ID == "" {
		err = c.Errorf(device.ErrUnsupported, "read it: the answer has no vmId")
	}
	return v, err
}

var powers = map[string]device.Power{
	"starting": device.On, "running": device.On, "stopped": device.Off, "deallocated": device.Off,
}

func (c *conversation) power(v virtual) (device.Power, error) {
	if len(v.powers) != 1 {
		return device.Unknown, c.Errorf(device.ErrUnreachable, "Azure tells %d power states of it, as of a machine whose host it has lost; nobody knows whether it runs", len(v.powers))
	}
	state := v.powers[0]
	switch p := powers[state]; {
	case p == device.Off && v.asleep != "": // its memory is kept: what runs on it continues when it is started (S1, S4)
		return device.Unknown, c.Errorf(device.ErrConflict, "it is %s, and its hibernation is %s: started, it goes on where it was, and is not off; deallocate it without hibernation, or delete it", state, v.asleep)
	case p != device.Unknown:
		return p, nil
	case state == "stopping", state == "deallocating": // whoever asked for it (S12), the machine still runs (S2)
		return p, c.Errorf(device.ErrStopping, "it is %s", state)
	case state == "unknown":
		return p, c.Errorf(device.ErrUnreachable, "Azure calls its power state unknown")
	default:
		return p, c.Errorf(device.ErrUnsupported, "it is %s, which this build does not know", state)
	}
}

// command accepts 202, and then watches the URL that the answer names.
func (c *conversation) command(ctx context.Context, verb, query string) error {
	header, err := c.Do(ctx, rest.Request{What: verb, Method: http.MethodPost, URL: c.url("/"+verb, query)}, nil)
	if err != nil {
		return err
	}
	at := header.Get("Azure-AsyncOperation")
	if !strings.HasPrefix(at, c.m.endpoint+"/") { // the token goes only to the API's host
		return nil // the next State counts anyway
	}
	return rest.Watch(ctx, func(ctx context.Context) (bool, error) {
		var op struct {
			Status string `json:"status"`
			Error  struct{ Code, Message string }
		}
		if _, err := c.Do(ctx, rest.Request{What: "see how to " + verb + " goes on", Method: http.MethodGet, URL: at}, &op); err != nil {
			return true, nil // as above
		}
		if op.Status != "Failed" && op.Status != "Canceled" {
			return op.Status == "Succeeded", nil
		}
		return true, c.Failed(op.Error.Code, "%s: %s: %s: %s", verb, op.Status, op.Error.Code, op.Error.Message)
	})
}

// kinds are the errors for Azure's own codes, if the status does not say enough.
var kinds = map[string]error{
	"SubscriptionNotRegistered":    device.ErrDenied, // with 409
	"ReadOnlyDisabledSubscription": device.ErrDenied,
	"ScopeLocked":                  device.ErrConflict,
	"InternalServerError":          device.ErrUnreachable,
	"InternalExecutionError":       device.ErrUnreachable,
	"InvalidApiVersionParameter":   device.ErrUnsupported, // with 400
	"NoRegisteredProviderFound":    device.ErrUnsupported,
}

// said reads Azure's error answers, and those of the token server.
func said(body []byte) (code, text string) {
	return rest.Refused(body, func(object json.RawMessage) (code, text string) {
		var e struct{ Code, Message string }
		if json.Unmarshal(object, &e) != nil {
			return "", ""
		}
		return e.Code, e.Message
	})
}

package gce

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// conversation is one call's conversation about one instance.
type conversation struct {
	*rest.Talk
	i *instance
}

// talk does one thing and leaves nothing behind.
func (i *instance) talk(ctx context.Context, do func(context.Context, *conversation) error) error {
	t := &rest.Talk{About: "instance " + i.name + " in " + i.zone, Said: said, Kinds: kinds, Direct: i.metadata}
	t.Open(&tls.Config{})
	defer t.End()
	if err := i.enter(ctx, t); err != nil {
		return err
	}
	return do(ctx, &conversation{t, i})
}

// State reads the instance's status. TERMINATED is off (S1: no release without a proof).
func (i *instance) State(ctx context.Context) (r device.Reading, err error) {
	err = i.talk(ctx, func(ctx context.Context, c *conversation) error {
		r, err = device.Arrived(ctx, c.state)
		return err
	})
	return r, err
}

func (c *conversation) state(ctx context.Context) (device.Reading, error) {
	now, err := c.get(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	p, err := c.power(now.Status)
	if err != nil {
		return device.Reading{}, err
	}
	return device.Reading{Power: p, Identity: now.ID}, nil
}

// powers are the powers of statuses. A status that leads to running is on. So is a
// suspended instance: it keeps its memory and continues where it was (S2).
var powers = map[string]device.Power{
	"PENDING": device.On, "PROVISIONING": device.On, "STAGING": device.On, "RUNNING": device.On,
	"SUSPENDED": device.On, "TERMINATED": device.Off,
	// STOPPED is an older word for it, which the API's own description still has.
	"STOPPED": device.Off,
}

// leaving are the statuses of instances that are being stopped or suspended, whoever asked
// for it.
var leaving = map[string]bool{"PENDING_STOP": true, "STOPPING": true, "SUSPENDING": true, "DEPROVISIONING": true}

func (c *conversation) power(status string) (device.Power, error) {
	switch p := powers[status]; {
	case p != device.Unknown:
		return p, nil
	case leaving[status]:
		return p, c.Errorf(device.ErrStopping, "it is %s", status)
	case status == "REPAIRING":
		return p, c.Errorf(device.ErrUnreachable, "it is REPAIRING: Compute Engine has lost it or is mending it, and nobody knows whether it runs")
	case status == "":
		return p, c.Errorf(device.ErrUnsupported, "the API does not tell its status")
	default:
		return p, c.Errorf(device.ErrUnsupported, "it is %s, which this build does not know", rest.Line(status))
	}
}

// needed are the rights on an instance that are needed to read and switch it.
var needed = []string{"compute.instances.get", "compute.instances.start", "compute.instances.stop"}

// Lacking asks which of these rights the account lacks.
func (i *instance) Lacking(ctx context.Context) (lacks []string, err error) {
	err = i.talk(ctx, func(ctx context.Context, c *conversation) error {
		var has struct{ Permissions []string }
		_, err := c.Do(ctx, rest.Request{
			What: "ask for its rights", Method: http.MethodPost, URL: c.url("/instances/" + c.i.name + "/testIamPermissions"),
			Body: map[string]any{"permissions": needed},
		}, &has)
		lacks = slices.DeleteFunc(slices.Clone(needed), func(p string) bool { return slices.Contains(has.Permissions, p) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return lacks, nil
}

// Off stops the instance. Compute Engine presses the power button and cuts the power about
// 90 s later. Off leaves out the graceful shutdown that an owner may have configured, and
// that may last an hour.
func (i *instance) Off(ctx context.Context) error {
	return i.change(ctx, "stop", device.Off, url.Values{"noGracefulShutdown": {"true"}})
}

// On starts the instance.
func (i *instance) On(ctx context.Context) error {
	return i.change(ctx, "start", device.On, nil)
}

// change sends one command, once. It sends none to a machine that is as wanted already (S9:
// read first, then act), or that is another machine than the intended one (S11).
func (i *instance) change(ctx context.Context, verb string, goal device.Power, query url.Values) error {
	return i.talk(ctx, func(ctx context.Context, c *conversation) error {
		now, err := c.get(ctx)
		if err != nil {
			return err
		}
		if i.id != "" && now.ID != i.id {
			return c.Errorf(device.ErrUnknown, "it has ID %s, configured is %s: another one has its name", now.ID, i.id)
		}
		switch p, perr := c.power(now.Status); {
		case p == goal && now.Status != "SUSPENDED":
			return nil
		case now.Status == "SUSPENDED" && goal == device.On:
			return c.Errorf(device.ErrConflict, "it is SUSPENDED: it would go on where it was, with what it had in memory; stop it first")
		case errors.Is(perr, device.ErrStopping): // nothing makes it faster
			return perr
		}
		return rest.Told(c.command(ctx, verb, query), goal, func() (device.Reading, error) { return c.state(ctx) })
	})
}

// virtual is the part of an instance that is used.
type virtual struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

func (c *conversation) url(tail string) string {
	return c.i.endpoint + "/compute/v1/projects/" + c.i.project + "/zones/" + c.i.zone + tail
}

func (c *conversation) get(ctx context.Context) (virtual, error) {
	var v virtual
	_, err := c.Do(ctx, rest.Request{What: "read it", Method: http.MethodGet, URL: c.url("/instances/" + c.i.name + "?fields=id,name,status")}, &v)
	if err == nil && !numericID.MatchString(v.ID) {
		err = c.Errorf(device.ErrUnsupported, "read it: the answer has no ID")
	}
	return v, err
}

// operation is the progress of a command.
type operation struct {
	Name, Status string
	Error        struct {
		Errors []struct{ Code, Message string }
	}
}

func (c *conversation) command(ctx context.Context, verb string, query url.Values) error {
	var op operation
	u := c.url("/instances/" + c.i.name + "/" + verb)
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	if _, err := c.Do(ctx, rest.Request{What: verb, Method: http.MethodPost, URL: u}, &op); err != nil {
		return err
	}
	started := false
	return rest.Watch(ctx, func(ctx context.Context) (bool, error) {
		if started {
			if !name.MatchString(op.Name) {
				return true, nil // the next State counts anyway
			}
			if _, err := c.Do(ctx, rest.Request{What: "see how to " + verb + " goes on", Method: http.MethodGet, URL: c.url("/operations/" + op.Name)}, &op); err != nil {
				return true, nil // as above
			}
		}
		started = true
		if len(op.Error.Errors) > 0 {
			e := op.Error.Errors[0]
			return true, c.Failed(e.Code, "%s: %s: %s", verb, e.Code, e.Message)
		}
		return op.Status == "DONE", nil
	})
}

// kinds are the errors for the API's own codes, if the status does not say enough.
var kinds = map[string]error{
	"rateLimitExceeded":     device.ErrUnreachable, // with 403
	"userRateLimitExceeded": device.ErrUnreachable,
	"quotaExceeded":         device.ErrConflict, // of the project: no room to start
	"resourceNotReady":      device.ErrConflict, // with 400
	"accessNotConfigured":   device.ErrDenied,
	"PERMISSIONS_ERROR":     device.ErrDenied,
	"RESOURCE_NOT_FOUND":    device.ErrUnknown,
	"INTERNAL_ERROR":        device.ErrUnreachable,
	"UNSUPPORTED_OPERATION": device.ErrUnsupported,
}

// said reads Google's error answers, and those of the token server.
func said(body []byte) (code, text string) {
	return rest.Refused(body, func(object json.RawMessage) (code, text string) {
		var e struct {
			Message string
			Status  string
			Errors  []struct{ Reason string }
		}
		if json.Unmarshal(object, &e) != nil {
			return "", ""
		}
		if len(e.Errors) > 0 {
			return e.Errors[0].Reason, e.Message
		}
		return e.Status, e.Message
	})
}

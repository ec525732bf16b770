package vsphere

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// kinds are the errors for vSphere's faults. Any other fault means that it refuses to do it
// now.
var kinds = map[string]error{
	"InvalidLogin":          device.ErrDenied,
	"NoPermission":          device.ErrDenied,
	"NotAuthenticated":      device.ErrDenied,
	"PasswordExpired":       device.ErrDenied,
	"ManagedObjectNotFound": device.ErrUnknown,
	"NotFound":              device.ErrUnknown,
	"HostCommunication":     device.ErrUnreachable,
	"HostNotConnected":      device.ErrUnreachable,
	"HostNotReachable":      device.ErrUnreachable,
	"SystemError":           device.ErrUnreachable,
	"Timedout":              device.ErrUnreachable,
	"NotSupported":          device.ErrUnsupported,
	"NotImplemented":        device.ErrUnsupported,
	"MethodNotFound":        device.ErrUnsupported,
	"InvalidRequest":        device.ErrUnsupported,
	"InvalidType":           device.ErrUnsupported,
	"RestrictedVersion":     device.ErrUnsupported, // a licence with which the API only reads
}

// statuses are the errors for answers that are no SOAP at all.
var statuses = map[int]error{
	http.StatusUnauthorized:     device.ErrDenied,
	http.StatusForbidden:        device.ErrDenied,
	http.StatusNotFound:         device.ErrUnsupported,
	http.StatusMethodNotAllowed: device.ErrUnsupported,
	http.StatusNotImplemented:   device.ErrUnsupported,
	http.StatusTooManyRequests:  device.ErrUnreachable,
	http.StatusRequestTimeout:   device.ErrUnreachable,
}

// explain sorts failures into the errors that every driver uses.
func (c *conversation) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var (
		no   *fault
		code *status
	)
	if errors.As(err, &no) {
		return c.faulty(what, no)
	}
	kind := device.ErrUnreachable
	switch {
	case errors.As(err, &code):
		kind = statuses[code.code]
		if kind == nil {
			kind = device.ErrUnsupported
			if code.code >= http.StatusInternalServerError {
				kind = device.ErrUnreachable
			}
		}
	case errors.Is(err, errNotSOAP):
		kind = device.ErrUnsupported
	}
	return c.errorf(kind, "%s: %s", what, trust.Lost(err))
}

// faulty is a refusal in vSphere's own words.
func (c *conversation) faulty(what string, f *fault) error {
	name, text := f.name, f.text
	kind, ok := kinds[name]
	switch {
	case ok:
	case name == "": // the fault says that something went wrong, and not what
		kind, name = device.ErrUnreachable, "a fault without a name"
	default:
		kind = device.ErrConflict
	}
	switch {
	case f.privilege != "":
		text = "needs the privilege " + f.privilege
	case f.existing != "":
		text = "it is " + f.existing
	}
	return c.errorf(kind, "%s: %s: %s", what, name, text)
}

// errorf is an error of one kind about this vCenter.
func (c *conversation) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, c.m.at(), rest.Line(c.scrub(fmt.Sprintf(format, args...))))
}

// scrub removes credentials from an answer (S29: no secret is shown).
func (c *conversation) scrub(s string) string {
	return device.Redacted(s, append(slices.Collect(maps.Values(c.cookies)), c.m.password, esc(c.m.password), c.session)...)
}

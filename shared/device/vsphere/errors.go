package vsphere

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/trust"
)

// kinds are the words for vSphere's faults. Any other is its no to this machine
// as it is now.
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
	"RestrictedVersion":     device.ErrUnsupported, // a licence by which the API only reads
}

// statuses are the words for what is no SOAP at all.
var statuses = map[int]error{
	http.StatusUnauthorized:     device.ErrDenied,
	http.StatusForbidden:        device.ErrDenied,
	http.StatusNotFound:         device.ErrUnsupported,
	http.StatusMethodNotAllowed: device.ErrUnsupported,
	http.StatusNotImplemented:   device.ErrUnsupported,
	http.StatusTooManyRequests:  device.ErrUnreachable,
	http.StatusRequestTimeout:   device.ErrUnreachable,
}

// explain sorts what the library says into the words that every driver uses.
func (c *conversation) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var (
		fault  interface{ Fault() types.BaseMethodFault }
		about  *url.Error
		status *notSOAP
		syntax *xml.SyntaxError
		other  xml.UnmarshalError
	)
	if errors.As(err, &fault) {
		return c.faulty(what, fault.Fault(), err.Error())
	}
	if errors.As(err, &about) {
		err = about.Err
	}
	kind, why := device.ErrUnreachable, err.Error()
	switch {
	case errors.As(err, &status):
		kind = statuses[status.status]
		if kind == nil {
			kind = device.ErrUnsupported
			if status.status >= http.StatusInternalServerError {
				kind = device.ErrUnreachable
			}
		}
	case errors.As(err, &syntax), errors.As(err, &other), errors.Is(err, errLong):
		kind, why = device.ErrUnsupported, "the answer is not what vSphere has: "+why
	default:
		if words, ok := trust.Why(err); ok {
			why = words
		}
	}
	return c.errorf(kind, "%s: %s", what, why)
}

// faulty is a no in vSphere's own words.
func (c *conversation) faulty(what string, f types.BaseMethodFault, text string) error {
	name := nameOf(f)
	kind, ok := kinds[strings.TrimSuffix(name, "Fault")]
	switch {
	case ok:
	case f == nil: // it says that something went wrong, and not what
		kind, name = device.ErrUnreachable, "a fault without a name"
	default:
		kind = device.ErrConflict
	}
	switch f := f.(type) {
	case *types.NoPermission:
		text = "needs the privilege " + f.PrivilegeId
	case *types.InvalidPowerState:
		text = "it is " + string(f.ExistingState)
	}
	return c.errorf(kind, "%s: %s: %s", what, name, text)
}

func nameOf(f types.BaseMethodFault) string {
	t := reflect.TypeOf(f)
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// errorf is an error of one kind about this vCenter.
func (c *conversation) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, c.m.at(), line(c.scrub(fmt.Sprintf(format, args...))))
}

// longestLine is how much of a foreign message is kept.
const longestLine = 300

func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > longestLine {
		s = string(r[:longestLine]) + "…"
	}
	return s
}

// scrub takes out whatever an answer had of the credentials (S29).
func (c *conversation) scrub(s string) string {
	for _, secret := range append([]string{c.m.password}, c.wire.cookies...) {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "(redacted)")
		}
	}
	return s
}

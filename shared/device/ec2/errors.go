package ec2

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/nodefence/nodefence/shared/device"
)

// kinds are the errors for AWS's error codes. The SDK knows those of throttling. Any other
// code means that the API refuses to do it now.
var kinds = map[string]error{
	"AccessDenied":                device.ErrDenied,
	"AccessDeniedException":       device.ErrDenied,
	"AuthFailure":                 device.ErrDenied,
	"Blocked":                     device.ErrDenied,
	"ExpiredToken":                device.ErrDenied,
	"ExpiredTokenException":       device.ErrDenied,
	"IncompleteSignature":         device.ErrDenied,
	"InvalidClientTokenId":        device.ErrDenied,
	"InvalidSecurity":             device.ErrDenied,
	"MissingAuthenticationToken":  device.ErrDenied,
	"OptInRequired":               device.ErrDenied,
	"PendingVerification":         device.ErrDenied,
	"RequestExpired":              device.ErrDenied,
	"SignatureDoesNotMatch":       device.ErrDenied,
	"UnauthorizedOperation":       device.ErrDenied,
	"UnrecognizedClientException": device.ErrDenied,

	"InvalidInstanceID.Malformed": device.ErrUnknown,
	"InvalidInstanceID.NotFound":  device.ErrUnknown,

	"Unsupported":                  device.ErrUnsupported,
	"UnsupportedOperation":         device.ErrUnsupported,
	"UnknownParameter":             device.ErrUnsupported,
	"InvalidAction":                device.ErrUnsupported,
	"UnsupportedInstanceAttribute": device.ErrUnsupported,

	"IncorrectInstanceState": device.ErrConflict,
	"IncorrectState":         device.ErrConflict,
	// These come with a status that would otherwise mean a broken API.
	"InsufficientInstanceCapacity": device.ErrConflict,
	"InsufficientHostCapacity":     device.ErrConflict,

	"InternalError":      device.ErrUnreachable,
	"InternalFailure":    device.ErrUnreachable,
	"RequestTimeout":     device.ErrUnreachable,
	"ServiceUnavailable": device.ErrUnreachable,
	"Unavailable":        device.ErrUnreachable,
}

// explain sorts the SDK's errors into the errors that every driver uses.
func (c *connection) explain(ctx context.Context, verb string, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	var nobody *noCredentials
	why, kind := "", device.ErrUnreachable
	switch {
	case errors.As(err, &nobody):
		why, kind = nobody.kind(ctx)
	case errors.As(err, &api) && ctx.Err() == nil:
		why, kind = refusal(api, status(err))
	default:
		why = cause(err)
	}
	return fmt.Errorf("%w: %s instance %s in %s: %s", kind, verb, c.id, c.region, line(c.scrub(why)))
}

// refusal is an answer with an error code, or with a code that can't be read.
func refusal(api smithy.APIError, status int) (string, error) {
	code, what := api.ErrorCode(), api.ErrorCode()+": "+api.ErrorMessage()
	if _, ok := retry.DefaultThrottleErrorCodes[code]; ok {
		return "throttled by AWS, " + what, device.ErrUnreachable
	}
	if kind, ok := kinds[code]; ok {
		return what, kind
	}
	if code == "" || code == "UnknownError" {
		what = fmt.Sprintf("status %d without an error code of AWS; is something else at this address?", status)
		if status < http.StatusInternalServerError {
			return what, device.ErrUnsupported
		}
	}
	if status == 0 || status >= http.StatusInternalServerError {
		return what, device.ErrUnreachable
	}
	return what, device.ErrConflict
}

// kind tells a refusal of credentials from a failure to get them.
func (e *noCredentials) kind(ctx context.Context) (string, error) {
	const what = "get AWS credentials for this process: "
	var api smithy.APIError
	if ctx.Err() != nil {
		return what + ctx.Err().Error(), device.ErrUnreachable
	}
	if errors.As(e, &api) {
		why, kind := refusal(api, status(e))
		if !errors.Is(kind, device.ErrUnreachable) {
			kind = device.ErrDenied
		}
		return what + why, kind
	}
	return what + cause(e), device.ErrDenied
}

func status(err error) int {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) {
		return r.HTTPStatusCode()
	}
	return 0
}

// cause leaves out the SDK's own names for its parts.
func cause(err error) string {
	var send *smithyhttp.RequestSendError
	var op *smithy.OperationError
	switch {
	case errors.As(err, &send):
		return send.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// longest bounds the part of a foreign message that is kept.
const longest = 240

// line is a message in one line. AWS appends a text for its own decoder, which is of no use
// to a reader.
func line(s string) string {
	s, _, _ = strings.Cut(s, "Encoded authorization failure message")
	return device.Line(s, longest)
}

// scrub removes credentials from an answer (S29: no secret is shown).
func (c *connection) scrub(s string) string {
	return device.Redacted(s, c.accessKey, c.secretKey, c.who.last.AccessKeyID, c.who.last.SecretAccessKey, c.who.last.SessionToken)
}

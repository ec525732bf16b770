package readiness

import (
	"context"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
)

// longest is how long a check may keep a device to itself at least: as long as a fence's own
// call, so that a device which is too slow for a fence is noticed.
const longest = api.DeviceCall

// clocksDiffer is more than two estimates of the API server's time differ: a call ends by
// so much before its claim does.
const clocksDiffer = 2 * time.Second

// Checker is one function's part in the checks.
type Checker struct {
	Client *kube.Client
	// Open reads the credentials and opens the driver of a binding, for one call.
	Open func(ctx context.Context, b *api.Binding, c devicecall.Claim) (device.Driver, error)
	// Devices returns a node's devices. A fault in the configuration is an Unfit, with the
	// binding that says so.
	Devices func(ctx context.Context, a Asked) (Resolved, error)
	// Whose is the node that was enrolled as this machine; empty if none was.
	Whose func(ctx context.Context, identity string) (node, enrolled string, err error)
	// DeniedRest is how long a device is left alone after it has refused the account, so
	// that checks do not lock the account.
	DeniedRest time.Duration
	// DeviceCall is the longest that one call to a device may take; the usual if zero. A check
	// takes no longer than its turn.
	DeviceCall time.Duration
	// Function is the function that this is part of; Me names one invocation of it.
	Function string
	Me       func() string
	Source   events.Source
	Reporter report.Reporter
	// Cuts: this function calls the devices that cut off storage and network. The other
	// function, which calls the devices that switch machines, has passed the node's turn on
	// to it.
	Cuts bool
}

// Unfit is why a node has no device: the fault in its configuration, with the object and
// the key to correct.
type Unfit struct {
	Reason api.Reason
	Err    error
}

// checking is one check.
type checking struct {
	*Checker
	node   *corev1.Node
	ledger *api.FenceLedger
	before *api.FenceTarget
	target *api.FenceTarget
	// began is the start of the turn; until is its end.
	began, until time.Time
	cause        event.Event
	// refuted says of a power cut of the node that the boot ID refutes it; empty if there is none. It is that of the last
	// check until the record is read, which is right before a device is.
	refuted string
	// holder is the claim that this check has saved; empty before.
	holder string
}

func (c *checking) now() api.Time { return metav1.NewMicroTime(c.Client.Clock().Now().UTC()) }

// ends is when a read that begins now is over for certain: a fence whose node has no turn any more
// asks for no claim (S7).
func (c *checking) ends(now time.Time) api.Time {
	at := now.Add(max(longest, c.DeviceCall))
	if at.After(c.until) {
		at = c.until
	}
	return metav1.NewMicroTime(at)
}

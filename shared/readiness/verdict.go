package readiness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/kube"
)

// manualDriver is the driver whose devices are people.
const manualDriver = "manual"

// errCredentials: a device could not be opened, because of its Secret or a parameter.
var errCredentials = errors.New("it can't be spoken with")

// readDevice is one State call.
func (k *Checker) readDevice(ctx context.Context, b *api.Binding, left time.Duration, call devicecall.Claim) (device.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	d, err := k.Open(ctx, b, call)
	if err != nil {
		return device.Reading{}, fmt.Errorf("%w: %w", errCredentials, err)
	}
	r, err := d.State(ctx)
	if !errors.Is(err, device.ErrDenied) && (err != nil || strange(b, r)) {
		return r, err // no rights are asked for on another machine
	}
	if lacks := lacking(ctx, d); len(lacks) > 0 {
		return device.Reading{}, fmt.Errorf("%w: its account lacks the right to %s", device.ErrDenied, strings.Join(lacks, ", "))
	}
	return r, err
}

// lacking returns all rights that a device's account is known to lack. If only one were
// named at a time, a person would learn of the last one by a failed fence.
func lacking(ctx context.Context, d device.Driver) []string {
	rights, can := d.(device.Rights)
	if !can {
		return nil
	}
	lacks, err := rights.Lacking(ctx)
	if err != nil {
		return nil // unknown
	}
	return lacks
}

// strange: the device answers for another machine than the enrolled one, or nobody knows for which.
func strange(b *api.Binding, r device.Reading) bool {
	return r.Identity != "" && b.IdentityFault != "" || b.Identity != "" && r.Identity != "" && !device.SameIdentity(b.Identity, r.Identity)
}

// notLearnt: the API server did not answer when the credentials were read. Nothing is known
// of the device then, and the check is tried again.
func notLearnt(err error) bool {
	var status apierrors.APIStatus
	var request *url.Error
	return errors.Is(err, errCredentials) && (errors.As(err, &status) || errors.As(err, &request))
}

// verdict is the result of one read.
func verdict(d api.TargetDevice, node string, b *api.Binding, r device.Reading, err error, ready bool) api.TargetDevice {
	d.Identity, d.State, d.Reason, d.Message = r.Identity, api.StateOf(string(r.Power)), api.DeviceAnswers, ""
	if err != nil {
		d.Identity, d.State = "", api.PowerUnknown
		d.Reason, d.Message = whyNot(b, err)
		return d
	}
	mine := b.IdentityFault == "" && device.SameIdentity(b.Identity, r.Identity)
	if mine {
		d.Identity = b.Identity // firmware has more than one order of a UUID's bytes
		d.Tells = true
	}
	switch {
	case strange(b, r):
		d.Reason, d.Message = notMine(node, b, r)
	case r.Unread != nil:
		d.Reason, d.Message = whyNot(b, r.Unread) // a set is proven off only if each of its devices says so
	case b.Identity != "" && r.Identity == "" && d.Tells:
		d.Reason, d.Message = api.WrongMachine, "it told before that it is machine "+b.Identity+", and tells no machine now; see what answers at its address, or "+devicecall.Mend(b) // S11: the device is the node's own
	case r.Power == device.Unknown:
		d.Reason, d.Message = api.DeviceFailed, "it answers, and does not tell whether the machine "+has(b)
	case r.MissingSupply != "":
		d.Reason, d.Message = api.DeviceFailed, "the machine "+has(b)+", but "+r.MissingSupply+"; see to that, or "+devicecall.Mend(b)
	case r.Power == device.Off && ready:
		d.Reason, d.Message = offThoughReady(b)
	}
	return d
}

// notMine is what an answer says for another machine than the enrolled one, or where the enrolled
// identity is none (S11: the device is the node's own).
func notMine(node string, b *api.Binding, r device.Reading) (api.Reason, string) {
	if b.IdentityFault != "" {
		return api.NoIdentity, "it answers for machine " + r.Identity + ", and " + b.NoIdentity(node)
	}
	return api.WrongMachine, "it answers for machine " + r.Identity + ", enrolled is " + b.Identity + "; " + devicecall.Mend(b)
}

// renewal says how an enrolment is renewed that is not of the node's present machine.
func renewal(node string) string {
	return "; if the machine is the node's own, because its board was replaced or its firmware says another UUID: kubectl fence enrol " + node +
		" renews ConfigMap " + kube.EnrolledName(node) + " (or correct identity= in the device's method)"
}

// offThoughReady is what a device says of a machine that lives.
func offThoughReady(b *api.Binding) (api.Reason, string) {
	if b.Role.Cuts() {
		return api.LeftCutOff, "it says that the machine is cut off, and its node is Ready and has no fence: it was left so, or cut by somebody else, and is for a person to give back; or " + devicecall.Mend(b)
	}
	return api.SignOfLife, "it says that the machine is off, and its node is Ready: it is another machine's, or not to be believed; " + devicecall.Mend(b)
}

// has describes a machine whose device reads on.
func has(b *api.Binding) string {
	if b.Role.Cuts() {
		return "has access"
	}
	return "is on"
}

// whyNot describes in one word and one sentence what is wrong with a device.
func whyNot(b *api.Binding, err error) (api.Reason, string) {
	var network net.Error
	switch {
	case errors.Is(err, device.ErrNotForHost):
		return api.SecretNotForThisHost, devicecall.Words(err)
	case errors.Is(err, errCredentials):
		return api.BindingInvalid, devicecall.Words(err)
	case b.Driver == manualDriver:
		return api.ManualOnly, devicecall.Words(err)
	case errors.Is(err, device.ErrUnreachable):
		return api.DeviceUnreachable, devicecall.Words(err) + "; see that it is on and can be reached from where nodefence runs, or " + devicecall.Mend(b)
	case errors.Is(err, device.ErrDenied):
		return api.DeviceDenied, devicecall.Words(fmt.Errorf("%s: %w", devicecall.Remedy(b), err))
	case errors.Is(err, device.ErrInvalid):
		return api.DeviceFailed, devicecall.Words(err) + "; see what answers at its address in its place, or " + devicecall.Mend(b)
	case errors.Is(err, device.ErrUnknown):
		return api.MachineUnknown, devicecall.Words(err) + "; " + devicecall.Mend(b)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return api.DeviceUnreachable, devicecall.Words(err) + "; see that it is on and can be reached from where nodefence runs, or " + devicecall.Mend(b)
	}
	return api.DeviceFailed, devicecall.Words(err)
}

// summarise describes the whole node by its devices: the first device that can't be used
// gives the reason, also if another level could take its place. A person as a device is in
// order if that is meant, and gives the reason only where each other device can be used. While the boot ID refutes a
// power cut of the node, no answer of a device counts (S1).
func summarise(t *api.FenceTarget, unfit *Unfit, refuted string, now api.Time) {
	st := &t.Status
	c := metav1.Condition{Type: api.Fenceable, LastTransitionTime: metav1.NewTime(now.Time)}
	if unfit != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(unfit.Reason), devicecall.Words(unfit)
		meta.SetStatusCondition(&st.Conditions, c)
		return
	}
	if refuted != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(api.CutRefuted), refuted
		meta.SetStatusCondition(&st.Conditions, c)
		return
	}
	c.Status, c.Reason = metav1.ConditionTrue, string(api.DeviceAnswers)
	c.Message = "each of its devices answers, and for this machine as far as it can tell"
	worst := inOrder
	for i, d := range st.Devices {
		is := weightOf(d.Reason)
		if is <= worst {
			continue
		}
		worst, c.Status, c.Reason = is, metav1.ConditionFalse, string(d.Reason)
		if is == unread {
			c.Status, d.Message = metav1.ConditionUnknown, "it was not read yet"
		}
		c.Message = fmt.Sprintf("%s, %s %s: %s", place(st.Devices, i), d.Driver, d.Address, d.Message)
	}
	meta.SetStatusCondition(&st.Conditions, c)
}

// weight is what a device says against its node; the heaviest speaks for the node.
type weight int

const (
	inOrder weight = iota
	unread
	aPerson
	unusable
)

func weightOf(r api.Reason) weight {
	switch r {
	case api.DeviceAnswers:
		return inOrder
	case api.NotCheckedYet:
		return unread
	case api.ManualOnly:
		return aPerson
	}
	return unusable
}

// place says which of the node's devices a device is. The levels come first, and then the
// isolation.
func place(all []api.TargetDevice, i int) string {
	levels := 0
	for _, d := range all {
		if !d.Role.Cuts() {
			levels++
		}
	}
	if i < levels {
		return fmt.Sprintf("level %d of %d", i+1, levels)
	}
	return fmt.Sprintf("isolation %d of %d", i+1-levels, len(all)-levels)
}

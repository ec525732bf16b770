package devicecall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Caller calls the devices of nodes.
type Caller struct {
	// Open reads the credentials and opens the driver of a binding.
	Open func(ctx context.Context, b *api.Binding, c Claim) (device.Driver, error)
	// Whose returns the node that was enrolled as this machine, and the machine as it was
	// enrolled; empty if none was. It may be nil.
	Whose func(ctx context.Context, identity string) (node, enrolled string, err error)
	// Credentials is the version of what the account of a device is read from; it may be nil.
	Credentials func(ctx context.Context, b *api.Binding) (string, error)
	// Self is the node that this process runs on (S13: never its own machine); empty if
	// unknown.
	Self string
	// Longest is how long one call may take in this process, whose platform may give it less
	// than a record's claim does; zero is the claim's time.
	Longest time.Duration
	// Now is by a clock that also runs while this machine is suspended.
	Now func() time.Time
}

// Make makes one call to the bound device.
func (t Caller) Make(ctx context.Context, f *api.NodeFence, bound *api.Binding, a fence.Action) (*observed.CallResult, error) {
	now := t.Now()
	c := &observed.CallResult{Call: api.Call(a), At: now}
	left := f.Status.Claim.NotAfter.Sub(now)
	if t.Longest > 0 {
		left = min(left, t.Longest)
	}
	version := t.versionBefore(ctx, f, bound, left)
	err := t.speak(ctx, f, bound, a, c, left-t.Now().Sub(now))
	if errors.Is(err, device.ErrDenied) {
		c.Denied, c.Credentials = true, version
		err = fmt.Errorf("%s: %w", Remedy(bound), err)
	}
	if err != nil {
		c.Err = Words(err)
	}
	return c, err
}

// versionBefore is the version of what the account is read from, for a device that has refused it
// before; empty if it can't be read. It is read before the account is: if the account is written
// between the two, the version differs later, and the device is asked once more.
func (t Caller) versionBefore(ctx context.Context, f *api.NodeFence, bound *api.Binding, left time.Duration) string {
	if t.Credentials == nil || bound == nil || !slices.ContainsFunc(f.Status.Power.Denied, func(r api.Denied) bool { return r.Device == bound.Words() }) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, max(0, left/4))
	defer cancel()
	version, err := t.Credentials(ctx, bound)
	if err != nil {
		return ""
	}
	return version
}

// speak makes the call within the rest of the claim's time. If the claim ran out while this
// process was stopped, no call is made (S8: the intent is saved before the call).
func (t Caller) speak(ctx context.Context, f *api.NodeFence, bound *api.Binding, a fence.Action, c *observed.CallResult, left time.Duration) error {
	if left <= 0 {
		return device.ErrLate
	}
	if bound == nil {
		return errors.New("no device is bound to this node")
	}
	if a == fence.Off && t.Self == f.Spec.NodeName && t.Self != "" {
		return errors.New("this is the machine that nodefence runs on") // S13: never its own machine
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	// net/http may read a request's body after this call has ended, when the record's claim is gone.
	until := f.Status.Claim.NotAfter.Time
	ctx = device.Timely(ctx, func() time.Duration { return until.Sub(t.Now()) })
	var ends ends
	d, err := t.Open(ctx, bound, Claim{
		Node: f.Spec.NodeName, Holder: f.Status.Claim.Holder, Record: RecordOf("NodeFence", f.ObjectMeta),
		Made: func(job string) { c.Jobs = append(c.Jobs, job) }, Ended: ends.one,
	})
	if errors.Is(err, device.ErrNotForHost) {
		c.Why = api.SecretNotForThisHost
	}
	if err != nil {
		return err
	}
	if err := device.InTime(ctx); err != nil {
		return err // this process was suspended meanwhile (S8)
	}
	switch a {
	case fence.Off, fence.On:
		err := control(ctx, d, a)
		if err == nil {
			c.Late = ends.late(bound, c.Jobs)
		}
		c.Refused = errors.Is(err, device.ErrDenied) || errors.Is(err, device.ErrUnsupported)
		return err
	}
	return t.read(ctx, d, f.Spec.NodeName, bound, c)
}

// read asks the device for the machine's power, and compares the answer with the bound
// machine.
func (t Caller) read(ctx context.Context, d device.Driver, node string, bound *api.Binding, c *observed.CallResult) error {
	r, err := d.State(ctx)
	if err != nil {
		c.Stopping, c.Blind = errors.Is(err, device.ErrStopping), errors.Is(err, device.ErrBlind)
		return err
	}
	if err := t.identify(ctx, node, bound, r, c); err != nil {
		return err
	}
	c.Power, c.MissingSupply = string(r.Power), r.MissingSupply
	return nil
}

// identify compares the device's name for its machine with the enrolled identity (S11: the
// device is the node's own). For a known machine it records the enrolled spelling, whatever
// the order of the bytes in the answer. If the enrolled identity is not the machine's alone, it
// refuses every answer that names a machine.
func (t Caller) identify(ctx context.Context, node string, bound *api.Binding, r device.Reading, c *observed.CallResult) error {
	told := r.Identity
	c.Identity = told
	switch want := bound.Identity; {
	case told != "" && bound.IdentityFault != "":
		c.Wrong = true
		return fmt.Errorf("%w: it answers for %s, and %s", device.ErrUnknown, told, bound.NoIdentity(node))
	case want == "":
		return nil
	case told == "" && bound.Tells && r.Unread != nil:
		return r.Unread // the device that told may be the one of the set that can't be read
	case told == "" && bound.Tells:
		return fmt.Errorf("%w: it told before that it is machine %s, and tells no machine now; see what answers at its address, or %s", device.ErrUnknown, want, Mend(bound))
	case told == "":
		return nil
	case device.SameIdentity(want, told):
		c.Identity = want
		return nil
	}
	c.Wrong = true
	if t.Whose != nil {
		// If Whose fails, the machine is refused all the same.
		if node, enrolled, err := t.Whose(ctx, told); err == nil && node != "" {
			c.Whose, c.Identity = node, enrolled
			return fmt.Errorf("%w: it is the device of node %s: it answers for %s, enrolled is %s; %s", device.ErrUnknown, node, enrolled, bound.Identity, Mend(bound))
		}
	}
	return fmt.Errorf("%w: it answers for %s, enrolled is %s; %s", device.ErrUnknown, told, bound.Identity, Mend(bound))
}

func control(ctx context.Context, d device.Driver, a fence.Action) error {
	if a == fence.Off {
		return d.Off(ctx)
	}
	return d.On(ctx)
}

// ends counts the Jobs of a call that were seen to end.
type ends struct {
	n       int
	longest time.Duration
}

func (e *ends) one(late time.Duration) { e.n, e.longest = e.n+1, max(e.longest, late) }

// late is how late the call may still take effect, if all Jobs of the call were seen to
// end. For a set it is unknown, because other devices carry out a part of the call.
func (e *ends) late(b *api.Binding, jobs []string) *time.Duration {
	if e.n == 0 || e.n != len(jobs) || len(b.Members) > 0 {
		return nil
	}
	return &e.longest
}

// Mend says where to correct an address that belongs to another machine.
func Mend(b *api.Binding) string {
	if len(b.Sources) == 0 {
		return "mend the address of its device"
	}
	return "mend the address of its device, " + b.Driver + " " + b.Address + ", in " + b.Sources[0].Kind + " " + b.Sources[0].Name + " or in those that it names"
}

// Remedy says what to correct if a device refuses our account, and in which object; for a
// set, for each of its devices.
func Remedy(b *api.Binding) string {
	all := []string{secretOf(b.SecretRefs)}
	for _, m := range b.Members {
		all = append(all, secretOf(m.SecretRefs))
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	remedy := "mend its user, its password or what it may do"
	if len(all) > 0 {
		remedy += ": " + strings.Join(slices.Compact(all), " or ")
	}
	return remedy
}

// secretOf returns the place of the password, or else of the first parameter in a Secret.
func secretOf(refs []api.SecretRef) string {
	for _, name := range []string{"password", "username"} {
		if ref, ok := api.RefOf(refs, name); ok && ref.Kind == api.KindSecret {
			return ref.String()
		}
	}
	for _, ref := range refs {
		if ref.Kind == api.KindSecret {
			return ref.String()
		}
	}
	return ""
}

// Words shortens an error to the length that a record takes.
func Words(err error) string { return clip.To(300, err.Error()) }

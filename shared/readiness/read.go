package readiness

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/report"
)

// read claims the node's devices, reads one of them, and reports.
func (c *checking) read(ctx context.Context, i int, b *api.Binding) error {
	now := c.now()
	summarise(c.target, nil, c.refuted, now) // this stays if a fence begins meanwhile
	c.target.Status.Claim = &api.TargetClaim{Holder: c.Me(), At: now, NotAfter: c.ends(now.Time)}
	if err := c.save(ctx); err != nil {
		return err
	}
	c.holder = c.target.Status.Claim.Holder
	read, err := c.readOne(ctx, i, b)
	c.target.Status.Claim = nil
	if !read || err != nil {
		return errors.Join(err, c.save(ctx))
	}
	return c.conclude(ctx, nil)
}

// readOne reads a device under the claim that has just been saved, unless a fence is open:
// the fence comes first, and calls the device itself.
func (c *checking) readOne(ctx context.Context, i int, b *api.Binding) (read bool, err error) {
	f, err := c.Client.Fence(ctx, c.node.Name)
	if err != nil {
		return false, err
	}
	c.refuted = ""
	if r := f.Refuted(); r != nil {
		c.refuted = r.Words()
	}
	now := c.Client.Clock().Now()
	left := c.target.Status.Claim.NotAfter.Sub(now) - clocksDiffer
	if left <= 0 || f != nil && (f.Open() || f.Status.Claim != nil && now.Before(f.Status.Claim.NotAfter.Time)) {
		return false, nil
	}
	r, err := c.readDevice(ctx, b, left, devicecall.Claim{
		Node: c.node.Name, Holder: c.target.Status.Claim.Holder, Record: devicecall.RecordOf("FenceTarget", c.target.ObjectMeta),
	})
	if err != nil && notLearnt(err) {
		return false, err
	}
	d := &c.target.Status.Devices[i]
	at := c.now()
	*d = verdict(*d, c.node.Name, b, r, err, look.NodeFrom(c.node, "").Ready())
	d.LastChecked, d.LastAsked = &at, nil // not compared: they are from the clocks of two processes (S30: one clock)
	if d.Reason == api.WrongMachine && c.Whose != nil {
		other, enrolled, err := c.Whose(ctx, r.Identity)
		if err != nil {
			return false, err
		}
		if other != "" {
			d.Message = strings.ReplaceAll(d.Message, r.Identity, enrolled)
			d.Identity = enrolled
			d.Message = "it is the device of node " + other + ": " + d.Message
		} else if b.Identity != "" && r.Identity != "" {
			d.Message += renewal(c.node.Name)
		}
	}
	return true, nil
}

// conclude writes the result, if it is new or if nothing was written in this turn yet, and
// reports.
func (c *checking) conclude(ctx context.Context, unfit *Unfit) error {
	now := c.now()
	st := &c.target.Status
	summarise(c.target, unfit, c.refuted, now)
	heeded(st, now)
	was := c.before.Status.LastChecked
	same := c.before.ResourceVersion == c.target.ResourceVersion && equality.Semantic.DeepEqual(c.before.Status.Devices, st.Devices) &&
		equality.Semantic.DeepEqual(c.before.Status.Conditions, st.Conditions) && equality.Semantic.DeepEqual(c.before.Status.CheckNow, st.CheckNow) &&
		equality.Semantic.DeepEqual(c.before.Status.Binding, st.Binding)
	if same && was != nil && !was.Time.Before(c.began) {
		return nil
	}
	st.LastChecked = &now
	if err := c.save(ctx); err != nil {
		return err
	}
	c.Reporter.Checked(ctx, report.Check{Function: c.Function, Cause: c.cause, Before: c.before, Target: c.target})
	return nil
}

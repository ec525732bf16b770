package readiness

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// hand passes the turn to the function that calls that device. It is saved before the event
// is sent, so that an event which nobody answers does not keep the other devices from their
// turns.
func (c *checking) hand(ctx context.Context, i int) (*event.Event, error) {
	now := c.now()
	c.target.Status.Devices[i].LastAsked = &now
	summarise(c.target, nil, c.refuted, now)
	if err := c.save(ctx); err != nil {
		return nil, err
	}
	e := c.Source.CheckIsolation(c.node.Name, string(c.node.UID), c.until, now.Time, c.cause)
	return &e, nil
}

// handed reads the device for which the turn was passed on, if it is still bound.
func (c *checking) handed(ctx context.Context, bound []api.Binding) error {
	st := &c.target.Status
	st.Devices = devicesOf(bound, st.Devices)
	for i, d := range st.Devices {
		if d.LastAsked != nil && d.Role.Cuts() {
			return c.read(ctx, i, &bound[i])
		}
	}
	c.Reporter.Ignored(ctx, c.Function, c.cause, "NoTurn")
	return nil
}

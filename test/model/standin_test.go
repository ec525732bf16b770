package model

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// withStandIn is a gate with a short stand-in for all functions after it. The stand-in cuts the
// power under a claim of its own, releases, and leaves the machine off. It writes nothing but the
// record, by compare-and-swap through the same client.
func withStandIn(gates code) code {
	return func(p process, name string) run.Handler {
		if name == gate.Name {
			return gates(p, name)
		}
		return p.standIn
	}
}

func (p process) standIn(ctx context.Context, e event.Event) (*event.Event, error) {
	c := p.client()
	f, err := c.Fence(ctx, e.Subject())
	if err != nil {
		return nil, err
	}
	st := &f.Status
	switch st.Phase {
	case api.Isolating:
		now := api.Time{Time: c.Clock().Now()}
		st.Phase, st.Power.SwitchedByUs = api.Fencing, true
		st.Claim = &api.Claim{Holder: p.me, Device: "power-1", Call: api.CallOff, At: now, NotAfter: now}
		if f, err = c.SaveFenceStatus(ctx, f); err != nil {
			return nil, err
		}
		if err := (driver{p, f.Spec.NodeName}).Off(ctx); err != nil {
			return nil, err
		}
	case api.Fencing:
		st.Phase, st.Claim, st.NextLook = api.Fenced, nil, stamp(never)
		if f, err = c.SaveFenceStatus(ctx, f); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	reply := source.Phase(f, c.Clock().Now(), c.Clock().Now())
	events.CausedBy(&reply, e)
	return &reply, nil
}

package model

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/power"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
)

// twin is the real gate with another way to reserve a slot.
type twin struct {
	*gate.Gate
	process
	way wayToReserve
	// yes is when the gate took a slot that is not in the ledger.
	yes *time.Time
}

type wayToReserve func(*twin, context.Context, *api.NodeFence) (*observed.Verdict, error)

// reservesBy makes a gate that reserves in its own way.
func reservesBy(way wayToReserve) code {
	return func(p process, name string) run.Handler {
		if name != gate.Name {
			return shipped(p, name)
		}
		c := p.client()
		t := &twin{Gate: p.gate(c), process: p, way: way}
		t.Loop = p.loop(c, name, gate.Phases, t)
		return t.Handle
	}
}

func (t *twin) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	err := t.Gate.Look(ctx, f, seen, notBefore)
	if t.yes != nil {
		seen.Reserved = t.yes
	}
	return err
}

func (t *twin) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (r loop.Result, err error) {
	if a != fence.Reserve {
		return t.Gate.Act(ctx, f, a, seen)
	}
	r.Verdict, err = t.way(t, ctx, f)
	return r, err
}

func hold() (*observed.Verdict, error) {
	return &observed.Verdict{Reason: api.TooManyConcurrent, Message: "no room", Again: 3 * time.Second}, nil
}

// picture is what counting needs.
func (t *twin) picture(ctx context.Context) (admission.Picture, error) {
	n, err := t.Client.Nodes(ctx)
	if err != nil {
		return admission.Picture{}, err
	}
	f, err := t.Client.Fences(ctx)
	return admission.Picture{Nodes: look.ClusterNodes(n), Fences: f}, err
}

// holding tells whether the record of another node holds a slot.
func holding(c admission.Picture, f *api.NodeFence) bool {
	for i := range c.Fences {
		if o := &c.Fences[i]; o.Spec.NodeName != f.Spec.NodeName && o.CurrentPhase().HoldsSlot() {
			return true
		}
	}
	return false
}

// countsAndActs has no ledger.
func countsAndActs(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	c, err := t.picture(ctx)
	if err != nil {
		return nil, err
	}
	if holding(c, f) {
		return hold()
	}
	now := t.Client.Clock().Now()
	t.yes = &now
	return nil, nil
}

// savesBlindly reads the ledger after counting and saves it over whatever is there.
func savesBlindly(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	c, err := t.picture(ctx)
	if err != nil {
		return nil, err
	}
	l, err := t.Client.Ledger(context.Background()) // read now, whatever this invocation has already read
	if err != nil {
		return nil, err
	}
	if no := admission.Admit(f, c, l, t.Client.Clock().Now()); no != nil {
		return no, nil
	}
	now := t.Client.Clock().Now()
	t.yes = &now
	_, err = t.call(request{
		method: http.MethodPatch, path: theLedger + "/status", by: t.me, contentType: "application/merge-patch+json",
		body: encode(fields{"status": fields{"reservations": l.Status.Reservations}}),
	})
	return nil, err
}

// countsTooEarly takes its picture before it reads the ledger, and then compares and swaps.
func countsTooEarly(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	c, err := t.picture(ctx)
	if err != nil {
		return nil, err
	}
	l, err := t.Client.Ledger(context.Background()) // read now, whatever this invocation has already read
	if err != nil {
		return nil, err
	}
	if no := admission.Admit(f, c, l, t.Client.Clock().Now()); no != nil {
		return no, nil
	}
	_, err = t.Client.SaveLedger(ctx, l)
	return nil, err
}

// countsRecordsOnly writes the ledger correctly and does not count what is in it.
func countsRecordsOnly(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	return t.swap(ctx, f, func(c admission.Picture, _ *api.FenceLedger) bool { return !holding(c, f) })
}

// trustsTheCensus counts the fences that the census shows, however late that is.
func trustsTheCensus(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	return t.swap(ctx, f, func(c admission.Picture, l *api.FenceLedger) bool {
		l.Status.Reservations = nil
		if l.Status.Census == nil {
			return !holding(c, f)
		}
		return !slices.ContainsFunc(l.Status.Census.Fences, func(o api.CountedFence) bool { return o.NodeName != f.Spec.NodeName && o.Phase.HoldsSlot() })
	})
}

// dropsOthers forgets the reservations of fences that do not run yet.
func dropsOthers(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	return t.swap(ctx, f, func(c admission.Picture, l *api.FenceLedger) bool {
		l.Status.Reservations = nil
		return !holding(c, f)
	})
}

// dropsNone keeps the reservations of fences that have ended.
func dropsNone(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	return t.swap(ctx, f, func(_ admission.Picture, l *api.FenceLedger) bool { return len(l.Status.Reservations) == 0 })
}

// swap reads the ledger first and saves it by compare-and-swap, as it must be;
// whether there is room is the twin's own rule.
func (t *twin) swap(ctx context.Context, f *api.NodeFence, room func(admission.Picture, *api.FenceLedger) bool) (*observed.Verdict, error) {
	l, err := t.Client.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	c, err := t.picture(ctx)
	if err != nil {
		return nil, err
	}
	if !room(c, l) {
		return hold()
	}
	l.Status.Reservations = append(l.Status.Reservations, api.Reservation{
		NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: api.Time{Time: t.Client.Clock().Now()},
	})
	_, err = t.Client.SaveLedger(ctx, l)
	return nil, err
}

// keepsInMemory has the slot in its own process, where it is safe from all but a crash.
func keepsInMemory(t *twin, ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	a, err := t.call(request{method: http.MethodPut, path: memory, body: []byte(f.Spec.NodeName), by: t.me})
	if err != nil {
		return nil, err
	}
	holder := string(a.body)
	if holder == f.Spec.NodeName {
		now := t.Client.Clock().Now()
		t.yes = &now
		return nil, nil
	}
	o, err := t.Client.Fence(ctx, holder)
	if err == nil && o != nil && o.CurrentPhase() != api.Pending && !o.CurrentPhase().HoldsSlot() {
		_, err = t.call(request{method: http.MethodDelete, path: memory, body: a.body, by: t.me})
	}
	if err != nil {
		return nil, err
	}
	return hold()
}

// opensAgain opens a new fence for every event that says that a node is dead.
func opensAgain(p process, name string) run.Handler {
	h := shipped(p, name)
	if name != gate.Name {
		return h
	}
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		c := p.client()
		f, err := c.Fence(ctx, e.Subject())
		if err == nil && f != nil && e.Type() == events.NodeUnhealthy {
			f.Status = fence.Opening(f, f.Status.Decision, c.Clock().Now())
			_, err = c.SaveFenceStatus(ctx, f)
		}
		if err != nil {
			return nil, err
		}
		return h(ctx, e)
	}
}

// seesNoClaim is a power function that ignores the claims of others.
func seesNoClaim(p process, name string) run.Handler {
	if name != power.Name {
		return shipped(p, name)
	}
	c := p.client()
	f := &power.Power{Client: c, Open: p.open}
	f.Loop = p.loop(c, name, power.Phases, f)
	f.Loop.Store = claimless{c, p.me}
	return f.Handle
}

type claimless struct {
	loop.Store
	me string
}

func (s claimless) Fence(ctx context.Context, node string) (*api.NodeFence, error) {
	f, err := s.Store.Fence(ctx, node)
	if f != nil && f.Status.Claim != nil && f.Status.Claim.Holder != s.me {
		f.Status.Claim = nil
	}
	return f, err
}

// looksAway is a power function that assumes that a node has not changed.
func looksAway(p process, name string) run.Handler {
	if name != power.Name {
		return shipped(p, name)
	}
	c := p.client()
	f := &power.Power{Client: c, Open: p.open}
	f.Loop = p.loop(c, name, power.Phases, blind{f})
	return f.Handle
}

type blind struct{ *power.Power }

func (b blind) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	err := b.Power.Look(ctx, f, seen, notBefore)
	seen.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown"}}
	return err
}

package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Core is one call of Decide, of which a test asks a single rule.
type Core struct{ d decision }

// CoreOf is what Decide begins with.
func CoreOf(dec *api.Decision, st api.NodeFenceStatus, seen observed.Look, now time.Time) *Core {
	return &Core{decision{Facts: facts.Facts{Decision: dec, Record: &st, Seen: seen, Now: now}}}
}

// Status is what the record becomes.
func (c *Core) Status() *api.NodeFenceStatus { return c.d.Record }

// Elsewhere tells whether another invocation's device call may be in flight.
func (c *Core) Elsewhere() bool { return c.d.CallElsewhere() }

// EffectUntil is until when a call to a device may take effect.
func (c *Core) EffectUntil(device string) *api.Time { return c.d.EffectUntil(device) }

// Verdict weighs a round of activity checks.
func (c *Core) Verdict(r *api.CheckRound) (api.Answer, string) { return c.d.RoundSaid(r) }

// OwesPowerOn tells whether a machine is to be switched on.
func (c *Core) OwesPowerOn() bool { return c.d.OwesPowerOn() }

// NoteCall writes down what a call of this invocation gave.
func (c *Core) NoteCall(r *observed.CallResult) { c.d.Seen.Call = r; c.d.noteCall() }

// NoteRelease writes down what a release is about to free.
func (c *Core) NoteRelease(a Action) { c.d.noteRelease(a) }

// Tell adds a sentence to the history.
func (c *Core) Tell(why api.Reason, msg string) { c.d.tell(why, msg) }

// Describe writes the words that people read.
func (c *Core) Describe() { c.d.describe() }

// RecentCuts are those that count against the node's limit.
func (c *Core) RecentCuts() int32 { return int32(c.d.RecentCuts()) }

// Kept are the past fences that the record has room for.
func (c *Core) Kept(past []api.PastFence) []api.PastFence { return c.d.KeptPast(past) }

// IsolationRecords drops those of devices that are bound no more.
func (c *Core) IsolationRecords() { c.d.isolationRecords() }

// ProvenByCut releases on what was seen to be cut off.
func (c *Core) ProvenByCut() Action { return c.d.provenByCut().act }

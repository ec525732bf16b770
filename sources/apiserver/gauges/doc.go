// Package gauges shows to a metrics system what the source sees now: the fences that are open, what
// holds them, the storms, and what stops all of them.
//
// What a reader must not get wrong: no program decides by a gauge. They are made here because the
// source is the one part that runs on every platform and sees all fences. A standby sees them too
// late or not at all, so it shows none but that it does not lead.
package gauges

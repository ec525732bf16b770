package facts

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A request that was withdrawn in time has its fence aborted. One that is withdrawn only once power was cut
// or work released ends nothing: what was begun runs to its end (S25). But it asks for nothing more.

// StillAsked is what was decided. Once the fence was begun it is without those who asked and have withdrawn
// that since, of these UIDs. If nobody is left who asked before it was begun, those who came later ask in their
// place: the fence that answers them has done nothing yet.
func (d *Facts) StillAsked(withdrawn []string) *api.Decision {
	if !Served(d.Record) || len(withdrawn) == 0 {
		return d.Decision
	}
	still := *d.Decision // what was decided is shared
	still.AskedBy = slices.DeleteFunc(slices.Clone(still.AskedBy), func(a api.AskedBy) bool { return slices.Contains(withdrawn, a.ID) })
	if len(still.AskedBy) < len(d.Decision.AskedBy) && still.Asker() == nil {
		for i := range still.AskedBy {
			still.AskedBy[i].Served = false
		}
	}
	return &still
}

// AskedNoMore: all who asked for this fence have withdrawn that, and no condition of the policy has held for
// its time. So nothing asks for a further Off (S17).
func (d *Facts) AskedNoMore() bool {
	if d.Record.Decision.Asker() == nil || d.Decision.Asker() != nil {
		return false
	}
	due := ConditionsDue(d.Decision, d.Record)
	return due.IsZero() || due.After(d.Now)
}

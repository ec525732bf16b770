package act

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// ConfirmRestore is a person's word that fences may begin again after the API server's state went back
// in time. It names that restore alone (S16).
func ConfirmRestore(l *api.FenceLedger, p Person) (Change, error) {
	r := l.Status.Restored
	switch {
	case r == nil:
		return Change{}, fmt.Errorf("FenceLedger %s: nodefence has not seen the API server's state go back in time, so there is nothing to confirm", l.Name)
	case admission.Confirmed(l.Spec.RestoreConfirmed, r):
		return Change{}, fmt.Errorf("FenceLedger %s: %s has confirmed the restore of %s already", l.Name, l.Spec.RestoreConfirmed.By, clock(r.SeenAt))
	}
	after := *l
	after.Status.Restored = nil // it is confirmed
	c := Change{Resource: "fenceledgers", Name: l.Name, Patch: map[string]any{
		"metadata": guard(&l.ObjectMeta), "spec": map[string]any{"restoreConfirmed": api.RestoreConfirmed{By: p.Name, SeenAt: r.SeenAt}},
	}}
	c.Says = []string{
		fmt.Sprintf("The API server's state went back in time: the ledger's resourceVersion was %s, and was %s at %s.", r.From, r.To, clock(r.SeenAt)),
		"You say that you have compared what was restored with what runs: nodes, pods and volumes, fences and their requests. nodefence can't check that.",
		begins(&after, withinLimits),
	}
	c.Done = fmt.Sprintf("the restore of %s confirmed by %s", clock(r.SeenAt), p.Name)
	return c, nil
}

// EndCoolDown ends the cool-downs that are under way after storms, each by its name, and no other one (S15).
func EndCoolDown(l *api.FenceLedger, p Person) (Change, error) {
	var meant []api.Time
	var says, storms []string
	for i := range l.Status.Storms {
		s := &l.Status.Storms[i]
		where := storming(s)
		switch {
		case s.CoolDownUntil == nil:
			storms = append(storms, fmt.Sprintf("- the storm under %s is not over, and still holds fences", where))
			continue
		case !s.CoolDownUntil.After(p.At.Time):
			continue
		case !admission.Waived(l, s):
			says = append(says, fmt.Sprintf("- under %s, until %s", where, clock(*s.CoolDownUntil)))
		}
		meant = append(meant, *s.CoolDownUntil) // one that was ended before stays so: this word takes the place of that one
	}
	switch {
	case len(says) == 0 && len(storms) > 0:
		return Change{}, fmt.Errorf("FenceLedger %s: no cool-down is under way, so there is nothing to end; storms are (kubectl fence status)", l.Name)
	case len(says) == 0:
		return Change{}, fmt.Errorf("FenceLedger %s: no cool-down is under way, so there is nothing to end", l.Name)
	}
	slices.SortFunc(meant, func(a, b api.Time) int { return b.Compare(a.Time) })
	meant = slices.CompactFunc(meant, func(a, b api.Time) bool { return a.Equal(&b) })
	last, also := meant[0], meant[1:]
	word := map[string]any{"by": p.Name, "reason": p.Reason, "until": last, "alsoUntil": nil} // a merge patch keeps what it does not name
	if len(also) > 0 {
		word["alsoUntil"] = also
	}
	c := Change{Resource: "fenceledgers", Name: l.Name, Patch: map[string]any{
		"metadata": guard(&l.ObjectMeta), "spec": map[string]any{"coolDownEnded": word},
	}}
	c.Says = append(append(append([]string{"After a storm no fence begins before its cool-down is over. You end these cool-downs:"}, says...), storms...), begins(l, withinLimits))
	c.Done = fmt.Sprintf("cool-downs until %s ended by %s", clock(last), p.Name)
	return c, nil
}

// withinLimits is what begins says where the ledger has held fences, and does so no more.
const withinLimits = "Fences may begin again within all limits, at once for nodes that are unhealthy now, and power-offs are sent again."

// begins says what follows for the fences that were held so far: free, unless by this ledger a stop, or a restore
// that nobody has confirmed, holds all of them.
func begins(l *api.FenceLedger, free string) string {
	const yet = "No fence begins yet all the same: "
	if l == nil {
		return free
	}
	switch why, _ := admission.Stopped(l); why {
	case api.Stopped:
		return yet + "fencing is stopped in the whole cluster (kubectl fence start)."
	case api.StateWentBack:
		return yet + "the API server's state went back in time, and nobody has confirmed that (kubectl fence confirm-restore)."
	}
	return free
}

// storming is where a storm is.
func storming(s *api.Storm) string {
	where := "policy " + s.Policy
	if s.TopologyKey != "" {
		where += fmt.Sprintf(", %s %q", s.TopologyKey, s.Domain)
	}
	return where
}

func clock(t api.Time) string { return t.UTC().Format(time.RFC3339) }

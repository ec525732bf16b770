package view

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Unnamed says which policies hold or miss more nodes than their statuses name, which is 64 at most, and than
// these rows show.
func (s *Seen) Unnamed(rows []Row) (out []string) {
	for i := range s.Policies {
		p := &s.Policies[i]
		st := &p.Status
		if more := int(st.HeldCount) - len(st.Held); more > 0 {
			if more -= s.heldUnnamed(p, rows); more > 0 {
				out = append(out, fmt.Sprintf("Policy %s holds %d nodes: %s.", p.Name, st.HeldCount,
					Count(more, "more is not named, and stands here as if it were not held", "more are not named, and stand here as if they were not held")))
			}
		}
		if more := int(st.MissingCount) - len(st.Missing); more > 0 {
			out = append(out, fmt.Sprintf("Policy %s has %d missing nodes: %s.", p.Name, st.MissingCount,
				Count(more, "more is not named, and does not stand here", "more are not named, and do not stand here")))
		}
	}
	return out
}

// showing are the states in which a row shows that something holds the node.
var showing = []string{Held, LeftAlone, string(api.Pending), string(api.Failed)}

// heldUnnamed is how many rows show that something holds a node of which the policy's status speaks, and that it
// does not name.
func (s *Seen) heldUnnamed(p *api.FencePolicy, rows []Row) (n int) {
	named := map[string]bool{}
	for i := range p.Status.Held {
		named[p.Status.Held[i].NodeName] = true
	}
	for i := range rows {
		if r := &rows[i]; slices.Contains(showing, r.State) && !named[r.Node] && s.speaksOf(p, r) {
			n++
		}
	}
	return n
}

// speaksOf tells whether the policy's status speaks of the node: the policy decides about it, or its precedence is
// that of the one that does. Of what has no Node it does not speak.
func (s *Seen) speaksOf(p *api.FencePolicy, r *Row) bool {
	if r.Policy == p.Name || r.Reason != api.PolicyConflict {
		return r.Policy == p.Name && s.Node(r.Node) != nil
	}
	_, resolved := s.Deciding(r.Node)
	return resolved != nil && resolved.Settings.Conflict == p.Name
}

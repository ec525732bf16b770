package ask

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// answer is the fence that answers a request: the one that its node's record has now, or an
// earlier one. All of it is empty if none does yet.
type answer struct {
	number int64
	now    *api.NodeFenceStatus
	past   *api.PastFence
	// gone says that the record is gone in which the fence was.
	gone bool
}

func (a answer) any() bool { return a.number > 0 }

// answerOf finds it by who asked, as the record has it; a record keeps a bounded number of those,
// so the number that was noted in the request counts too.
func answerOf(r *api.FenceRequest, f *api.NodeFence) answer {
	noted := r.Status.NodeFence
	if f == nil || noted.UID != "" && noted.UID != f.UID {
		return answer{number: noted.FenceNumber, gone: noted.FenceNumber > 0}
	}
	st := &f.Status
	ours := func(id, source string) bool { return id == string(r.UID) && source == Source(r) }
	here := slices.ContainsFunc(st.Decision.AskedBy, func(a api.AskedBy) bool { return ours(a.ID, a.Source) })
	if here || noted.FenceNumber > 0 && noted.FenceNumber == st.FenceNumber {
		return answer{number: st.FenceNumber, now: st}
	}
	for i := range st.Past {
		p := &st.Past[i]
		here := slices.ContainsFunc(p.AskedBy, func(a api.PastAskedBy) bool { return ours(a.ID, a.Source) })
		if here || noted.FenceNumber > 0 && noted.FenceNumber == p.FenceNumber {
			return answer{number: p.FenceNumber, past: p}
		}
	}
	return answer{number: noted.FenceNumber, gone: noted.FenceNumber > 0}
}

// served: power was cut or work released. What was begun runs to its end (S25).
func served(st *api.NodeFenceStatus) bool { return st.CutOrReleased || st.Begun() }

// onlyAsker: nobody else asked for the fence while nothing was done yet.
func onlyAsker(r *api.FenceRequest, st *api.NodeFenceStatus) bool {
	found := false
	for _, a := range st.Decision.AskedBy {
		switch {
		case a.ID == string(r.UID) && a.Source == Source(r):
			found = true
		case !a.Served:
			return false
		}
	}
	return found
}

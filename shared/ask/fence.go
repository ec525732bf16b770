package ask

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

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

// onlyAsker: nobody else asked for the fence while nothing was done yet, or they have withdrawn it
// too.
func (s Seen) onlyAsker(st *api.NodeFenceStatus) bool {
	found := false
	for _, a := range st.Decision.AskedBy {
		switch {
		case a.ID == string(s.Request.UID) && a.Source == Source(s.Request):
			found = true
		case !a.Served && !slices.Contains(s.WithdrawnToo, a.ID):
			return false
		}
	}
	return found
}

// Beside are the other FenceRequests that a record names, where this one is withdrawn and its fence
// may have to be aborted. Whether they are withdrawn too is read after the record: of two that are
// withdrawn at the same time, the later one then sees that the other one is.
func Beside(r *api.FenceRequest, f *api.NodeFence) (all []api.FenceRequest) {
	if Withdrawn(r) == "" || f == nil || !f.Open() || served(&f.Status) {
		return nil
	}
	for _, a := range f.Status.Decision.AskedBy {
		if o := Named(a); o != nil && !a.Served && o.UID != r.UID {
			all = append(all, *o)
		}
	}
	return all
}

// Named is the FenceRequest by which somebody asked, with no more than its names and its UID; nil if it
// was none. The sender of an event chose its source, and the names become a path: others are none.
func Named(a api.AskedBy) *api.FenceRequest {
	path, is := strings.CutPrefix(a.Source, sourcePrefix)
	namespace, name, two := strings.Cut(path, "/")
	if !is || !two || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil
	}
	o := &api.FenceRequest{}
	o.Namespace, o.Name, o.UID = namespace, name, types.UID(a.ID)
	return o
}

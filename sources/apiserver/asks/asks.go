package asks

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// request is what is kept of a FenceRequest.
type request struct {
	named events.ObjectReference
	node  string
	// generation and withdrawn are what others change.
	generation int64
	withdrawn  string
	unfinished bool
}

// standing is what is kept of a node's fence.
type standing struct {
	uid     types.UID
	number  int64
	phase   api.Phase
	reason  api.Reason
	outcome api.Reason
}

// Store has the FenceRequests of all namespaces that count.
type Store struct {
	source events.Source
	out    *outbox.Outbox

	mu sync.Mutex
	// all are by namespace/name.
	all    map[string]request
	fences map[string]standing
}

// New returns an empty store that puts its events into out.
func New(source events.Source, out *outbox.Outbox) *Store {
	s := &Store{source: source, out: out}
	s.Begin()
	return s
}

// Begin resets the store before each lead.
func (s *Store) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.fences = map[string]request{}, map[string]standing{}
}

// Saw notes a FenceRequest as it is now, and sends an event if it is new, or somebody changed it.
func (s *Store) Saw(o *api.FenceRequest, now time.Time) {
	r := request{
		named: events.ObjectReference{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}, node: ask.Subject(o),
		generation: o.Generation, withdrawn: ask.Withdrawn(o), unfinished: ask.Unfinished(o),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := o.Namespace + "/" + o.Name
	was, known := s.all[key]
	s.all[key] = r
	same := known && was.named.UID == r.named.UID && was.generation == r.generation && was.withdrawn == r.withdrawn
	if !same && (r.unfinished || r.withdrawn != "") {
		s.wake(r, "o"+o.ResourceVersion, now)
	}
}

// Gone forgets a FenceRequest that was deleted, by its namespace/name.
func (s *Store) Gone(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

// Fence notes where a node's fence stands, and sends an event about each FenceRequest of that node
// that waits for it.
func (s *Store) Fence(f *api.NodeFence, now time.Time) {
	is := standing{f.UID, f.Status.FenceNumber, f.Status.Phase, f.Status.Reason, f.Status.Outcome}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fences[f.Name] == is {
		return
	}
	s.fences[f.Name] = is
	for _, r := range s.all {
		if r.node == f.Name && r.unfinished {
			s.wake(r, "f"+f.ResourceVersion, now)
		}
	}
}

// FenceGone does so when the node's record was deleted.
func (s *Store) FenceGone(node string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.fences[node]
	delete(s.fences, node)
	for _, r := range s.all {
		if r.node == node && r.unfinished {
			s.wake(r, "g"+string(was.uid), now)
		}
	}
}

// wake puts an event into the outbox, in place of an earlier one about the same object. The caller
// holds the lock.
func (s *Store) wake(r request, what string, now time.Time) {
	s.out.Put(outbox.Letter{Event: s.source.FenceRequestChanged(r.node, r.named, what, now), About: "request/" + r.named.UID})
}

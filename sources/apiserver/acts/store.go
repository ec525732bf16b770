package acts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

const (
	// mostWaiting is how many acts wait to be written.
	mostWaiting = 1024
	// mostEarly is how many sights wait until the acts are listed.
	mostEarly = 16384
	// tellAgain is for how long after its creation the event of an act is sent again by a source that begins: the
	// source that wrote the act may have ended before it sent the event. The event has the same ID.
	tellAgain = 10 * time.Minute
)

// Writer reads and writes acts.
type Writer interface {
	Acts(ctx context.Context) ([]api.FenceAct, error)
	// CreateAct returns kube.ErrConflict where the act is there already.
	CreateAct(ctx context.Context, a *api.FenceAct) error
}

// field is a field of an object.
type field struct {
	uid  types.UID
	name api.ActField
}

// Store has what the last act of each field says, and the acts that are to be written. No method waits for the API
// server, except Run.
type Store struct {
	writer Writer
	source events.Source
	outbox *outbox.Outbox
	log    *slog.Logger
	now    func() time.Time

	mu     sync.Mutex
	listed bool
	last   map[field]recorded
	// early are the sights that wait until the acts are listed, in order; newest has the last one of each field.
	early  []sight
	newest map[field]recorded
	// waiting are the acts that are to be written, by name.
	waiting map[string]*api.FenceAct
	queue   workqueue.TypedRateLimitingInterface[string]

	counted *prometheus.CounterVec
}

// New returns a store that writes by w, and puts an event of each act into o.
func New(w Writer, source events.Source, o *outbox.Outbox, log *slog.Logger, now func() time.Time) *Store {
	s := &Store{writer: w, source: source, outbox: o, log: log, now: now, counted: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodefence_source_acts_total", Help: "Records of what people did, by result: Written, Failed (and tried again) or Dropped.",
	}, []string{"result"})}
	for _, result := range []string{written, failed, dropped} {
		s.counted.WithLabelValues(result)
	}
	s.Begin()
	return s
}

// The results of writing an act.
const written, failed, dropped = "Written", "Failed", "Dropped"

// Metrics returns how many acts were written, failed and were dropped.
func (s *Store) Metrics() []prometheus.Collector { return []prometheus.Collector{s.counted} }

// Begin forgets everything before a lead. Run lists what was written before.
func (s *Store) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = false
	s.last, s.early, s.newest, s.waiting = map[field]recorded{}, nil, map[field]recorded{}, map[string]*api.FenceAct{}
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute))
}

// Ledger notes what the FenceLedger says. first tells that it is of the list with which a watch began.
func (s *Store) Ledger(l *api.FenceLedger, first bool) { s.saw(readLedger(l), first) }

// Policy notes what a FencePolicy says.
func (s *Store) Policy(p *api.FencePolicy, first bool) { s.saw(readPolicy(p), first) }

// Fence notes what people ask of a node's fence.
func (s *Store) Fence(f *api.NodeFence, first bool) { s.saw(readFence(f), first) }

func (s *Store) saw(o object, first bool) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stands := range o.stands {
		is := sight{of: o.ActObject, standing: stands, at: now, before: first}
		if s.listed {
			s.compareLocked(is)
			continue
		}
		s.keepLocked(is)
	}
}

// keepLocked keeps a sight until the acts are listed, unless it says what the field's last sight says.
func (s *Store) keepLocked(is sight) {
	k, now := field{is.of.UID, is.field}, recorded{value: is.value, mark: is.mark}
	last, known := s.newest[k]
	if known && last == now || !known && is.cleared && is.value == "" {
		return
	}
	if len(s.early) >= mostEarly {
		s.counted.WithLabelValues(dropped).Inc()
		return
	}
	s.newest[k] = now
	s.early = append(s.early, is)
}

// compareLocked has an act written if the field does not say what its last act says.
func (s *Store) compareLocked(is sight) {
	k := field{is.of.UID, is.field}
	last, known := s.last[k]
	if !known {
		last.value = restValue(is.field)
	}
	if is.of.Generation < last.generation {
		return
	}
	if is.cleared && is.value == "" {
		delete(s.last, k)
		return
	}
	act := is.act(last)
	s.last[k] = recorded{is.says(), cmp.Or(is.mark, last.mark), is.beside, is.of.Generation}
	if act == nil {
		return
	}
	if len(s.waiting) >= mostWaiting {
		s.counted.WithLabelValues(dropped).Inc()
		s.log.Error("cannot record what a person did: too many records wait to be written", "object", is.of.Name, "act", is.field, "by", act.Spec.By)
		return
	}
	s.waiting[act.Name] = act
	s.queue.Add(act.Name)
}

// Gone forgets an object that was deleted.
func (s *Store) Gone(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.last {
		if k.uid == uid {
			delete(s.last, k)
		}
	}
}

// Run lists the acts, and writes those that are missing, until ctx ends.
func (s *Store) Run(ctx context.Context) {
	s.mu.Lock()
	queue := s.queue
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	wait := 200 * time.Millisecond
	for !s.list(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			wait = min(2*wait, time.Minute)
		}
	}
	for s.writeNext(ctx, queue) {
	}
}

// list reads the acts that were written before, and compares what was seen since the lead began.
func (s *Store) list(ctx context.Context) bool {
	all, err := s.writer.Acts(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.counted.WithLabelValues(failed).Inc()
			s.log.Warn("cannot list what people did; trying again", "error", err.Error())
		}
		return false
	}
	slices.SortStableFunc(all, func(a, b api.FenceAct) int { return cmp.Compare(a.Spec.Object.Generation, b.Spec.Object.Generation) })
	now := s.now()
	for i := range all {
		if a := &all[i]; now.Sub(a.CreationTimestamp.Time) < tellAgain {
			s.tell(a)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		a := &all[i].Spec
		k := field{a.Object.UID, a.Field}
		s.last[k] = readRecord(a, s.last[k])
	}
	for _, is := range s.early {
		s.compareLocked(is)
	}
	s.early, s.newest, s.listed = nil, nil, true
	return true
}

// writeNext waits for the next act and tries to write it once. It returns false when Run has ended.
func (s *Store) writeNext(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string]) bool {
	name, end := queue.Get()
	if end {
		return false
	}
	defer queue.Done(name)
	s.mu.Lock()
	act := s.waiting[name]
	s.mu.Unlock()
	if act == nil {
		return true
	}
	if err := s.writer.CreateAct(ctx, act.DeepCopy()); err != nil && !errors.Is(err, kube.ErrConflict) {
		if ctx.Err() == nil {
			s.counted.WithLabelValues(failed).Inc()
			s.log.Warn("cannot record what a person did; trying again", "act", name, "error", err.Error())
		}
		queue.AddRateLimited(name)
		return true
	}
	s.counted.WithLabelValues(written).Inc()
	s.log.Info("recorded what a person did", "act", act.Spec.Field, "object", act.Spec.Object.Name, "to", act.Spec.To, "by", act.Spec.By, "manager", act.Spec.Manager)
	queue.Forget(name)
	s.mu.Lock()
	delete(s.waiting, name)
	s.mu.Unlock()
	s.tell(act)
	return true
}

// tell sends the event of an act.
func (s *Store) tell(a *api.FenceAct) {
	s.outbox.Put(outbox.Letter{Event: s.source.Act(a, s.now())})
}

package loop

import (
	"sync"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// RecordCache has the records that this process wrote last. A fence goes through many short
// invocations, and the next one usually begins with what the last one wrote: a decision need not
// read it again, because the decision is saved against its resourceVersion. If anybody wrote
// since, that fails, and the record is read. A decision that saves nothing does not show that the
// record is the newest, so it is made again on a record that was read (see invocation.sure).
//
// The zero value is empty; a nil one never keeps anything.
type RecordCache struct {
	mu      sync.Mutex
	records map[string]kept
}

type kept struct {
	fence *api.NodeFence
	at    time.Time
}

// keptFor is how long a record is worth trying: an open fence is looked at every
// half minute at least.
const keptFor = time.Minute

// put keeps a record. The caller must not use it any more: it belongs to the one that takes it.
func (k *RecordCache) put(f *api.NodeFence, now time.Time) {
	if k == nil || f == nil || f.ResourceVersion == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil {
		k.records = map[string]kept{}
	}
	for node, r := range k.records {
		if !r.young(now) {
			delete(k.records, node)
		}
	}
	k.records[f.Spec.NodeName] = kept{f, now}
}

// take removes and returns a record, so that two invocations never share one.
func (k *RecordCache) take(node string, now time.Time) *api.NodeFence {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.records[node]
	delete(k.records, node)
	if !ok || !r.young(now) {
		return nil
	}
	return r.fence
}

func (r kept) young(now time.Time) bool {
	age := now.Sub(r.at)
	return age >= 0 && age < keptFor
}

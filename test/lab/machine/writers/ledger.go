package writers

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Owner is who writes.
type Owner struct {
	// Machine is the system UUID: a node's name may pass to another machine.
	Machine string `json:"machine"`
	Node    string `json:"node"`
	Pod     string `json:"pod"`
}

// Record is one span of writing. To is nil while the writing continues.
type Record struct {
	Volume string `json:"volume"`
	Owner
	From time.Time  `json:"from"`
	To   *time.Time `json:"to"`
}

// Overlap is a span in which two machines could write to one volume.
type Overlap struct {
	Volume string     `json:"volume"`
	A      Owner      `json:"a"`
	B      Owner      `json:"b"`
	From   time.Time  `json:"from"`
	To     *time.Time `json:"to"`
}

// Ledger holds all records of a lab. Its order is that of its lock: a writer
// that is stopped before another starts never overlaps with it, whatever the
// resolution of the clock.
type Ledger struct {
	now func() time.Time

	mu      sync.Mutex
	journal io.Writer
	failed  error
	records []*Record
	open    map[string][]*Record
	clashes []clash
}

// clash remembers the records rather than times: neither has ended yet.
type clash struct {
	a, b *Record
	from time.Time
}

// New keeps the records in memory, and writes each change to journal so that
// they outlive the process.
func New(journal io.Writer, now func() time.Time) *Ledger {
	return &Ledger{now: now, journal: journal, open: map[string][]*Record{}}
}

// Start opens a span. The returned function ends it, once.
func (l *Ledger) Start(volume string, owner Owner) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Record{Volume: volume, Owner: owner, From: l.now()}
	for _, other := range l.open[volume] {
		if other.Machine != owner.Machine {
			l.clashes = append(l.clashes, clash{a: other, b: r, from: r.From})
		}
	}
	l.records = append(l.records, r)
	l.open[volume] = append(l.open[volume], r)
	l.write("start", r)
	return func() { l.stop(r) }
}

func (l *Ledger) stop(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.To != nil {
		return
	}
	to := l.now()
	r.To = &to
	l.open[r.Volume] = without(l.open[r.Volume], r)
	if len(l.open[r.Volume]) == 0 {
		delete(l.open, r.Volume)
	}
	l.write("stop", r)
}

// Records returns all spans in the order in which they began.
func (l *Ledger) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Record, 0, len(l.records))
	for _, r := range l.records {
		all = append(all, *r)
	}
	return all
}

// Overlaps returns all overlaps in the order in which they began.
func (l *Ledger) Overlaps() []Overlap {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Overlap, 0, len(l.clashes))
	for _, c := range l.clashes {
		all = append(all, Overlap{Volume: c.a.Volume, A: c.a.Owner, B: c.b.Owner, From: c.from, To: earlier(c.a.To, c.b.To)})
	}
	return all
}

// Err is the first failure to write the journal.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

func (l *Ledger) write(event string, r *Record) {
	line := struct {
		Event string `json:"event"`
		*Record
	}{event, r}
	if err := json.NewEncoder(l.journal).Encode(line); err != nil && l.failed == nil {
		l.failed = fmt.Errorf("write journal: %w", err)
	}
}

func without(all []*Record, r *Record) []*Record {
	for i := range all {
		if all[i] == r {
			return append(all[:i:i], all[i+1:]...)
		}
	}
	return all
}

func earlier(a, b *time.Time) *time.Time {
	switch {
	case a == nil:
		return b
	case b == nil || a.Before(*b):
		return a
	}
	return b
}

package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// record is a span in which a pod on a machine wrote to a volume.
type record struct {
	Volume  string     `json:"volume"`
	Machine string     `json:"machine"`
	Node    string     `json:"node"`
	Pod     string     `json:"pod"`
	From    time.Time  `json:"from"`
	To      *time.Time `json:"to"`
}

// overlap is a time at which two machines wrote to one volume.
type overlap struct {
	Volume string    `json:"volume"`
	A      string    `json:"a"`
	B      string    `json:"b"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// writers remembers who wrote where. Times are from one clock, this process's,
// which is why they can be compared.
type writers struct {
	mu      sync.Mutex
	records []record
	journal *os.File
	now     func() time.Time
}

func newWriters(path string) (*writers, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the writers' journal: %w", err)
	}
	return &writers{journal: f, now: time.Now}, nil
}

func (w *writers) close() { _ = w.journal.Close() }

func (w *writers) begin(volume, machine, node, pod string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, record{Volume: volume, Machine: machine, Node: node, Pod: pod, From: w.now().UTC()})
	w.note(len(w.records) - 1)
	return len(w.records) - 1
}

func (w *writers) end(id int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.records[id].To == nil {
		to := w.now().UTC()
		w.records[id].To = &to
		w.note(id)
	}
}

func (w *writers) note(id int) {
	if w.journal != nil {
		_ = json.NewEncoder(w.journal).Encode(w.records[id])
	}
}

// all are the records and every overlap of two machines on one volume.
func (w *writers) all() ([]record, []overlap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now().UTC()
	overlaps := []overlap{}
	for i, a := range w.records {
		for _, b := range w.records[i+1:] {
			if a.Volume != b.Volume || a.Machine == b.Machine {
				continue
			}
			from, to := later(a.From, b.From), earlier(a.end(now), b.end(now))
			if from.Before(to) {
				overlaps = append(overlaps, overlap{a.Volume, a.Node + " " + a.Pod, b.Node + " " + b.Pod, from, to})
			}
		}
	}
	return append([]record{}, w.records...), overlaps
}

func (r record) end(now time.Time) time.Time {
	if r.To != nil {
		return *r.To
	}
	return now
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

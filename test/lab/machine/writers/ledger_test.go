package writers

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time    { return epoch.Add(time.Duration(seconds) * time.Second) }
func upTo(seconds int) *time.Time { t := at(seconds); return &t }

// step starts (machine and volume) or stops (index of an earlier start) at a second.
type step struct {
	at      int
	machine string
	volume  string
	stop    int
}

func TestOverlaps(t *testing.T) {
	a, b := Owner{Machine: "a", Node: "a", Pod: "p"}, Owner{Machine: "b", Node: "b", Pod: "p"}
	for name, tc := range map[string]struct {
		steps []step
		want  []Overlap
	}{
		"one after the other is none": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 5, stop: 0}, {at: 6, machine: "b", volume: "v"}},
		},
		"stopped and started in one tick of the clock is none": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 5, stop: 0}, {at: 5, machine: "b", volume: "v"}},
		},
		"started before the stop in one tick of the clock is one": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 5, machine: "b", volume: "v"}, {at: 5, stop: 0}},
			want:  []Overlap{{Volume: "v", A: a, B: b, From: at(5), To: upTo(5)}},
		},
		"two machines at once": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 2, machine: "b", volume: "v"}, {at: 7, stop: 1}, {at: 9, stop: 0}},
			want:  []Overlap{{Volume: "v", A: a, B: b, From: at(2), To: upTo(7)}},
		},
		"it is seen while it goes on": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 2, machine: "b", volume: "v"}},
			want:  []Overlap{{Volume: "v", A: a, B: b, From: at(2)}},
		},
		"two volumes": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 2, machine: "b", volume: "w"}},
		},
		"the same machine restarts its pod": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 2, machine: "a", volume: "v"}, {at: 3, stop: 0}},
		},
		"three machines are three pairs": {
			steps: []step{{at: 0, machine: "a", volume: "v"}, {at: 1, machine: "b", volume: "v"}, {at: 2, machine: "a", volume: "v"}},
			want: []Overlap{
				{Volume: "v", A: a, B: b, From: at(1)},
				{Volume: "v", A: b, B: a, From: at(2)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var now time.Time
			l := New(&bytes.Buffer{}, func() time.Time { return now })
			var stops []func()
			for _, s := range tc.steps {
				now = at(s.at)
				if s.machine == "" {
					stops[s.stop]()
					continue
				}
				stops = append(stops, l.Start(s.volume, Owner{Machine: s.machine, Node: s.machine, Pod: "p"}))
			}
			want := append([]Overlap{}, tc.want...)
			if diff := cmp.Diff(want, l.Overlaps()); diff != "" {
				t.Errorf("overlaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStopCountsOnce(t *testing.T) {
	now := at(0)
	var journal bytes.Buffer
	l := New(&journal, func() time.Time { return now })
	stop := l.Start("v", Owner{Machine: "a"})
	now = at(1)
	stop()
	now = at(2)
	stop()
	want := []Record{{Volume: "v", Owner: Owner{Machine: "a"}, From: at(0), To: upTo(1)}}
	if diff := cmp.Diff(want, l.Records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	wantJournal := `{"event":"start","volume":"v","machine":"a","node":"","pod":"","from":"2026-01-01T00:00:00Z","to":null}
{"event":"stop","volume":"v","machine":"a","node":"","pod":"","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:01Z"}
`
	if diff := cmp.Diff(wantJournal, journal.String()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestAJournalThatFailsIsTold(t *testing.T) {
	l := New(fullDisk{}, time.Now)
	l.Start("v", Owner{})
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("error: %v", err)
	}
}

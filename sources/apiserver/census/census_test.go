package census

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestASourceGivesWayToOneThatLeads, and to no other: the last census of one that leads no more may
// have been written later than this one's, by a clock that was ahead.
func TestASourceGivesWayToOneThatLeads(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	of := func(source string, at time.Duration) *api.Census {
		return &api.Census{Source: source, ObservedAt: metav1.NewMicroTime(start.Add(at))}
	}
	for name, c := range map[string]struct {
		mine, there *api.Census
		now         time.Duration
		want        bool
	}{
		"it has written none":                  {nil, of("b", time.Second), 2 * time.Second, false},
		"there is none":                        {of("a", 0), nil, 2 * time.Second, false},
		"its own":                              {of("a", 0), of("a", time.Second), 2 * time.Second, false},
		"an older one":                         {of("a", time.Second), of("b", 0), 2 * time.Second, false},
		"one that was written since":           {of("a", 0), of("b", time.Second), 2 * time.Second, true},
		"one that nobody has written anew":     {of("a", 0), of("b", time.Second), 32 * time.Second, false},
		"the same, while it may still be kept": {of("a", 0), of("b", time.Second), 31 * time.Second, true},
		"one of a clock that was set back":     {of("a", 0), of("b", time.Hour), 2 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, l := New(), &api.FenceLedger{}
			s.Wrote(nil, c.mine)
			l.Status.Census = c.there
			if got := s.OthersIn(l, start.Add(c.now)); got != c.want {
				t.Errorf("gives way: %v", got)
			}
		})
	}
}

// TestTheCensusShowsWhatHasEnded, while the ledger has a slot for it or has it under way, so that
// nothing is listed to learn of it (S14). It leaves room for the fences that are open.
func TestTheCensusShowsWhatHasEnded(t *testing.T) {
	s, l := New(), &api.FenceLedger{}
	for _, node := range []string{"slot", "under", "over"} {
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: node}}
		f.Status.FenceNumber, f.Status.Phase = 1, api.Finished
		s.Fence(f)
	}
	shown := func() (names []string) {
		s.Wrote(l, nil)
		var w admission.Watched
		s.Into(&w)
		for _, f := range w.Closed {
			names = append(names, f.NodeName)
		}
		return names
	}
	l.Status.Reservations = []api.Reservation{{NodeName: "slot"}}
	l.Status.UnderWay = []api.UnderWay{{NodeName: "under"}, {NodeName: "open"}}
	if got := shown(); !slices.Equal(got, []string{"slot", "under"}) {
		t.Errorf("shown are %v", got)
	}
	for i := range api.MaxCensusFences {
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: fmt.Sprint(i)}}
		f.Status.FenceNumber, f.Status.Phase = 1, api.Finished
		s.Fence(f)
		l.Status.UnderWay = append(l.Status.UnderWay, api.UnderWay{NodeName: fmt.Sprint(i)})
	}
	if got := shown(); len(got) != 1+mostEnded {
		t.Errorf("%d are shown", len(got))
	}
}

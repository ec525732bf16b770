package leases

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

// storeOf has Leases that stand still as a picture says, and that picture in the ledger.
func storeOf(b *outboxtest.Broker, p api.LeasePicture) *Store {
	log := slog.New(slog.DiscardHandler)
	s := New(events.SourceOf("c"), outbox.New(b, log), log)
	s.Begin(t0)
	s.Resume(t0)
	s.drawn = p
	for _, l := range p.Still {
		s.picture.leases[l.NodeName] = observed{renewed: l.Renewed, moved: l.Since.Time, renewal: renewal}
	}
	return s
}

// around is what the rest of the source knows: the nodes that exist and the open fences.
type around struct {
	here map[string]string
	open map[string]*api.NodeFence
}

func twoNodes() around {
	return around{map[string]string{"a": "node-a", "b": "node-b"}, map[string]*api.NodeFence{}}
}

func (x around) fenced() { x.open["a"] = &api.NodeFence{} }

func (s *Store) queued() (ids []string) {
	for _, l := range s.outbox.Waiting() {
		ids = append(ids, l.Event.ID())
	}
	return ids
}

func TestSuspects(t *testing.T) {
	a, b := still("a", "m1", 10, false), still("b", "m2", 5, true)
	for name, c := range map[string]struct {
		picture api.LeasePicture
		change  func(*Store, around)
		want    []string
	}{
		"each still Lease is told once":           {pictureOf(0, 30, 2, a, b), nil, []string{"node-a.suspect.m1", "node-b.suspect.m2"}},
		"none stands still":                       {pictureOf(0, 30, 2), nil, nil},
		"nothing was drawn yet":                   {api.LeasePicture{}, nil, nil},
		"a picture younger than a renewal (S15)":  {pictureOf(21, 30, 2, a), nil, nil},
		"while nobody watches":                    {pictureOf(0, 30, 2, a), func(s *Store, _ around) { s.Pause(sec(29)) }, nil},
		"a node under a fence is seen to already": {pictureOf(0, 30, 2, a, b), func(_ *Store, x around) { x.fenced() }, []string{"node-b.suspect.m2"}},
		"a Lease without a node is nobody's":      {pictureOf(0, 30, 2, a), func(_ *Store, x around) { delete(x.here, "a") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, x := storeOf(outboxtest.NewBroker(), c.picture), twoNodes()
			if c.change != nil {
				c.change(s, x)
			}
			s.Suspects(x.here, x.open, sec(30))
			if d := cmp.Diff(c.want, s.queued()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASuspectIsToldOnceForEachMark(t *testing.T) {
	sent := outboxtest.NewBroker()
	s, x := storeOf(sent, pictureOf(0, 30, 2, still("a", "m1", 10, false))), twoNodes()
	told := func(what string, want ...string) {
		t.Helper()
		for len(s.queued()) > 0 {
			s.outbox.SendNext(t.Context())
		}
		if d := cmp.Diff(want, sent.IDs()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	s.Suspects(x.here, x.open, sec(30))
	told("at first", "node-a.suspect.m1")
	s.Suspects(x.here, x.open, sec(30))
	told("again")
	s.drawn = pictureOf(0, 40, 2)
	s.Suspects(x.here, x.open, sec(30))
	told("it moves")
	s.drawn = pictureOf(0, 60, 2, still("a", "m9", 48, false))
	s.picture.leases["a"] = observed{renewed: "m9", renewal: renewal}
	s.Suspects(x.here, x.open, sec(30))
	told("it stands again", "node-a.suspect.m9")
	x.fenced()
	s.Suspects(x.here, x.open, sec(30))
	delete(x.open, "a")
	s.Suspects(x.here, x.open, sec(30))
	told("after a fence it is no news")
	s.SuspectsAgain(x.here, x.open, sec(30).Truncate(30*time.Second), sec(30))
	told("at a resync", "node-a.suspect.m9.r"+"1767323070000000")
	s.drawn = pictureOf(0, 90, 2, still("a", "m10", 78, false))
	s.Suspects(x.here, x.open, sec(30))
	told("one that has moved by the time that it is sent")
}

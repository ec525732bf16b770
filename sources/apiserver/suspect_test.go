package apiserver

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/outbox/outboxtest"
)

// sourceWith is a source that watches nothing: its picture is given.
func sourceWith(t *testing.T, b *outboxtest.Broker, p api.LeasePicture) *Source {
	t.Helper()
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	client, err := kube.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Config: cfg, Client: client, Sender: b, Logger: slog.New(slog.DiscardHandler), Source: events.SourceOf("c"), Resync: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return sec(30) }
	s.nodes.known = map[string]nodeView{"a": {uid: "node-a"}, "b": {uid: "node-b"}}
	s.leases.begin(t0)
	s.leases.resume(t0)
	s.leases.drawn = p
	for _, l := range p.Still {
		s.leases.picture.leases[l.NodeName] = observed{renewed: l.Renewed, moved: l.Since.Time, renewal: renewal}
	}
	return s
}

func TestSuspects(t *testing.T) {
	a, b := still("a", "m1", 10, false), still("b", "m2", 5, true)
	for name, c := range map[string]struct {
		picture api.LeasePicture
		change  func(*Source)
		want    []string
	}{
		"each still Lease is told once":           {pictureOf(0, 30, 2, a, b), nil, []string{"node-a.suspect.m1", "node-b.suspect.m2"}},
		"none stands still":                       {pictureOf(0, 30, 2), nil, nil},
		"nothing was drawn yet":                   {api.LeasePicture{}, nil, nil},
		"a picture younger than a renewal (S15)":  {pictureOf(21, 30, 2, a), nil, nil},
		"while nobody watches":                    {pictureOf(0, 30, 2, a), func(s *Source) { s.leases.pause(sec(29)) }, nil},
		"a node under a fence is seen to already": {pictureOf(0, 30, 2, a, b), func(s *Source) { s.due.Put(fenceOf("1"), sec(30)) }, []string{"node-b.suspect.m2"}},
		"a Lease without a node is nobody's":      {pictureOf(0, 30, 2, a), func(s *Source) { delete(s.nodes.known, "a") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := sourceWith(t, outboxtest.NewBroker(), c.picture)
			if c.change != nil {
				c.change(s)
			}
			s.suspects()
			if d := cmp.Diff(c.want, s.pendingIDs()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASuspectIsToldOnceForEachMark(t *testing.T) {
	sent := outboxtest.NewBroker()
	s := sourceWith(t, sent, pictureOf(0, 30, 2, still("a", "m1", 10, false)))
	told := func(what string, want ...string) {
		t.Helper()
		drain(s.outbox)
		if d := cmp.Diff(want, sent.IDs()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	s.suspects()
	told("at first", "node-a.suspect.m1")
	s.suspects()
	told("again")
	s.leases.drawn = pictureOf(0, 40, 2)
	s.suspects()
	told("it moves")
	s.leases.drawn = pictureOf(0, 60, 2, still("a", "m9", 48, false))
	s.leases.picture.leases["a"] = observed{renewed: "m9", renewal: renewal}
	s.suspects()
	told("it stands again", "node-a.suspect.m9")
	s.due.Put(fenceOf("1"), sec(30))
	s.suspects()
	s.due.Remove("a")
	s.suspects()
	told("after a fence it is no news")
	s.resync()
	told("at a resync", "node-a.suspect.m9.r"+"1767323070000000")
	s.leases.drawn = pictureOf(0, 90, 2, still("a", "m10", 78, false))
	s.suspects()
	told("one that has moved by the time that it is sent")
}

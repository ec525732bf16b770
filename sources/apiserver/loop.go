package apiserver

import (
	"context"
	"time"

	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

func (s *Source) loop(ctx context.Context) {
	resync := time.NewTicker(s.o.Resync)
	defer resync.Stop()
	dueTimer := time.NewTimer(0)
	defer dueTimer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-resync.C:
			s.resync()
		case <-s.due.Wake():
		case <-dueTimer.C:
		}
		wait := s.o.Resync
		if next := s.due.SendDue(s.now()); !next.IsZero() {
			wait = max(0, next.Sub(s.now()))
		}
		dueTimer.Reset(wait)
	}
}

// suspects sends an event for each new suspect.
func (s *Source) suspects() { s.leases.Suspects(s.nodes.uids(), s.due.Open(), s.now()) }

// resync sends again what is unhealthy, suspect or was reported and has no open fence, and
// nodefence's marks on nodes that no record explains (S19: a lost event costs time only;
// S22: nodefence removes only what it placed).
func (s *Source) resync() {
	now := s.now()
	slot := now.Truncate(s.o.Resync)
	known, here, open := s.nodes.all(), s.nodes.uids(), s.due.Open()
	s.leases.SuspectsAgain(here, open, slot, now)
	s.tellAgain(here, open, slot, now)
	for name, v := range known {
		for _, mark := range v.marks {
			if f := open[name]; f == nil || string(f.UID) != mark {
				s.outbox.Put(outbox.Letter{Event: s.o.Source.Marked(name, v.uid, mark, slot, now), About: "marked/" + name + "/" + mark})
			}
		}
		if open[name] != nil {
			continue
		}
		for _, c := range presentlyUnhealthy(name, v) {
			s.outbox.Put(outbox.Letter{Event: s.o.Source.Condition(c, slot, now), About: "resync/" + name + "/" + c.Condition})
		}
	}
}

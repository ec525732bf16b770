package apiserver

import (
	"context"
	"time"
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
		case <-s.wake:
		case <-dueTimer.C:
		}
		dueTimer.Reset(s.sendDue())
	}
}

// resync sends again what is unhealthy, suspect or was reported and has no open fence,
// and marks of ours for which no record stands (S19, S22).
func (s *Source) resync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	slot := now.Truncate(s.o.Resync)
	for _, l := range s.suspicious() {
		if !s.due.hasOpen(l.NodeName) {
			s.sendSuspect(l, slot, now)
		}
	}
	here, open := map[string]string{}, map[string]bool{}
	for name, v := range s.nodes {
		here[name] = v.uid
	}
	for node := range s.due.byNode {
		open[node] = true
	}
	s.tellAgain(here, open, slot, now)
	for name, v := range s.nodes {
		for _, mark := range v.marks {
			if x := s.due.byNode[name]; x == nil || string(x.fence.UID) != mark {
				s.outbox.put(letter{event: s.o.Source.Marked(name, v.uid, mark, slot, now), about: "marked/" + name + "/" + mark})
			}
		}
		if s.due.hasOpen(name) {
			continue
		}
		for _, c := range presentlyUnhealthy(name, v) {
			s.outbox.put(letter{event: s.o.Source.Condition(c, slot, now), about: "resync/" + name + "/" + c.Condition})
		}
	}
}

package apiserver

import (
	"context"
	"errors"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
)

// pictureEvery is how often the Leases are evaluated.
const pictureEvery = 500 * time.Millisecond

// pictures runs beside loop, because its write may wait for a slow API server and a wake-up
// must not.
func (s *Source) pictures(ctx context.Context) {
	tick, sweep := time.NewTicker(pictureEvery), time.NewTicker(s.o.Resync)
	defer tick.Stop()
	defer sweep.Stop()
	// rested: the last census is long enough ago for the next.
	var rest census.Rest
	rested := time.NewTimer(0)
	defer rested.Stop()
	wake := s.counting.Wake()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.draw(ctx)
			s.suspects()
			s.sendChecks()
		case <-sweep.C:
			s.sweep(ctx)
			s.sendCredentialChecks()
		case <-wake:
			began := s.now()
			wrote := s.draw(ctx)
			wake = nil
			now := s.now()
			rested.Reset(rest.After(now, now.Sub(began), wrote))
		case <-rested.C:
			wake = s.counting.Wake()
		}
	}
}

// draw writes the picture of the Leases and the census into the ledger: at once when one of
// them shows something else, and often enough that the gate can trust their age. While
// nobody watches, draw writes nothing, so that they grow old: their age alone tells the gate
// (S15: nothing begins on what nobody watched). It tells whether it tried to write.
func (s *Source) draw(ctx context.Context) (tried bool) {
	change, counts := s.counting.News()
	d, keep := s.toKeep(counts)
	if !keep {
		s.counting.There(change)
		return false
	}
	l, err := s.write(ctx, d)
	if err != nil {
		if ctx.Err() == nil {
			s.o.Logger.Warn("cannot write the picture of the Leases and the census into the ledger; the next tick tries again", "error", err.Error())
		}
		return true
	}
	if l == nil {
		return true // another source's census stands there
	}
	s.counting.There(change)
	if s.leases.Kept(d.LeasePicture) {
		s.due.Calmer(nil, s.now())
	}
	s.configs.keep(d.configs)
	s.targets.written(l.Status.Checks)
	return true
}

// write writes both, together with the turns that the ledger should hold, only if the ledger
// is still as this source knows it: another source may have written since. It returns the
// ledger as it was written; nil if another source's census stands there. The picture does
// not wait: if the gates write faster, it is written without the rest.
func (s *Source) write(ctx context.Context, d drawn) (*api.FenceLedger, error) {
	l := s.counting.Known()
	for range writeTries {
		if l == nil {
			if l = s.ledgerToDraw(ctx); l == nil {
				return nil, errNoLedger
			}
			if s.counting.OthersIn(l, s.now()) {
				s.o.Logger.Warn("another source writes the census: this one writes none", "source", l.Status.Census.Source)
				return nil, nil
			}
		}
		saved, err := s.o.Client.SaveSourceView(ctx, kube.SourceView{
			Leases: d.LeasePicture, Census: d.census, Configs: d.configs, Turns: s.enrol.versions(s.targets.toStand(l, s.now())),
		}, l.ResourceVersion)
		if err == nil {
			s.counting.Wrote(saved, d.census)
			return saved, nil
		}
		if !errors.Is(err, kube.ErrConflict) {
			s.counting.Wrote(nil, nil)
			return nil, err
		}
		l = nil
	}
	if l = s.ledgerToDraw(ctx); l == nil {
		return nil, errNoLedger
	}
	if hasNewerPicture(l, d.LeasePicture, s.now()) {
		s.o.Logger.Warn("the ledger has a newer picture of the Leases, which is another source's: this one writes none")
		return nil, nil
	}
	saved, err := s.o.Client.SaveSourceView(ctx, kube.SourceView{Leases: d.LeasePicture, Configs: d.configs}, "")
	s.counting.Wrote(saved, nil)
	return saved, err
}

// hasNewerPicture tells whether the ledger has a picture of the Leases that was drawn after this one,
// by another source that leads. A time that lies ahead, or long ago, is no sign of a source that does.
func hasNewerPicture(l *api.FenceLedger, mine api.LeasePicture, now time.Time) bool {
	at := l.Status.Leases.ObservedAt
	return at != nil && mine.ObservedAt != nil && at.After(mine.ObservedAt.Time) && observed.Fresh(at.Time, now, admission.CensusKept)
}

var errNoLedger = errors.New("the ledger can't be read now")

// writeTries bounds the tries to write the census and the turns with a picture.
const writeTries = 6

// drawn is what is to be written.
type drawn struct {
	api.LeasePicture
	census  *api.Census
	configs *api.ConfigsSeen
}

// toKeep returns the picture and the census, and whether they are to be written now. If they
// are, toKeep first hands out the turns that are written with them. Nothing is counted while
// nothing has changed.
func (s *Source) toKeep(counts bool) (d drawn, keep bool) {
	now, here := s.now(), s.nodes.uids()
	p := s.leases.Look(here, now)
	d.LeasePicture = p.LeasePicture
	if !p.Watched {
		return d, false
	}
	news := p.News
	if news || counts {
		var other bool
		d.census, other = s.census(p.LeasePicture, now)
		news = news || other
	}
	d.configs = s.configsSeen(now)
	s.targets.configured(d.configs, now)
	news = news || s.configs.differs(d.configs)
	free := freeOf(here, s.due.Open(), d.LeasePicture)
	if !news && !s.targets.hurries(now, p.Age, free) {
		return d, false
	}
	if d.census == nil {
		d.census, _ = s.census(p.LeasePicture, now)
	}
	s.targets.turns(now, here, free)
	return d, true
}

// census draws one, and tells whether it says something else than the ledger's. There is
// none while one of the watches is silent, or not all is listed.
func (s *Source) census(p api.LeasePicture, now time.Time) (c *api.Census, news bool) {
	if s.standing.hears(now, nodes, fences, policies, budgets) {
		w := admission.Watched{Leases: p, Source: s.o.Identity}
		s.counting.Into(&w)
		for _, f := range s.due.Open() {
			w.Fences = append(w.Fences, f)
		}
		w.Nodes = s.nodes.counted()
		c = admission.TakeCensus(w, now)
		s.sayBeyond(w, c)
	}
	return c, s.counting.Differs(c)
}

// sayBeyond logs when there begins to be more than a census holds, and when that ends.
func (s *Source) sayBeyond(w admission.Watched, c *api.Census) {
	more := ""
	if c == nil {
		more = w.Beyond()
	}
	switch news := s.counting.Beyond(more); {
	case news && c == nil:
		s.o.Logger.Warn("there is more than a census holds: every decision lists the cluster", "more", more)
	case news:
		s.o.Logger.Info("a census holds all again: decisions go by it")
	}
}

// configsSeen is the version of the ConfigMaps for the ledger. It is nil while nobody
// watches them: then each fence resolves its devices anew.
func (s *Source) configsSeen(now time.Time) *api.ConfigsSeen {
	if s.standing.broken(enrolments) {
		return nil
	}
	return &api.ConfigsSeen{Version: s.configs.now(), ObservedAt: *leases.Stamp(now)}
}

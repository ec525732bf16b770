package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/mirror"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// quiet is how long a burst of changes is waited for.
const quiet = 500 * time.Millisecond

// lookAgain is how long status -w waits while nothing changes: that nodefence is dead shows by the time alone.
const lookAgain = 30 * time.Second

// errUnread: not everything was read yet.
var errUnread = errors.New("nodefence's objects and the nodes are still being read")

// follow shows what is seen after each change, and each lookAgain, until ctx ends. It reads all once and then
// watches: to list thousands of nodes again and again is dear for the API server.
func (p *program) follow(ctx context.Context, c *cluster.Client, show func(*view.Seen) error) error {
	again := p.again
	if again == nil {
		again = time.Tick(lookAgain)
	}
	m := mirror.New(c)
	changes, end := m.Changes()
	defer end()
	running, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { m.Run(running) })
	defer wg.Wait()
	defer stop()
	lost := ""
	for ctx.Err() == nil {
		s, err := seen(ctx, c, m)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == errUnread:
			afterBurst(ctx)
			continue
		}
		if lost, err = p.lost(lost, err); err == nil && lost == "" {
			err = show(&s)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-changes:
			afterBurst(ctx)
		}
	}
	return nil
}

// afterBurst waits for the end of a burst, or of ctx.
func afterBurst(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(quiet):
	}
}

// seen is what the mirror has, if that is what the API server has. A ledger that nodefence has not written for
// long is read: it may be that its changes do not arrive here.
func seen(ctx context.Context, c *cluster.Client, m *mirror.Mirror) (s view.Seen, err error) {
	for _, g := range m.Gaps() {
		switch {
		case g.Err != nil:
			return s, g.Err
		case g.Unread:
			err = errUnread
		}
	}
	if err != nil {
		return s, err
	}
	s = m.Seen(c.Now())
	if s.Blind() {
		s.Ledger, err = c.LedgerIfAny(ctx)
	}
	if err == nil {
		c.LookForSource(ctx, &s)
	}
	return s, err
}

// lost notes that changes are not seen, and that they are again. was is what it noted of that last, and so is what
// it returns; an error says that nobody may look any more.
func (p *program) lost(was string, err error) (string, error) {
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return was, err
	case err == nil && was != "":
		p.note([]string{"no longer: " + was})
		was = ""
	case err != nil && was == "":
		was = fmt.Sprintf("changes are not seen, and it is tried again: %s", cluster.Explain(err))
		p.note([]string{was})
	}
	return was, nil
}

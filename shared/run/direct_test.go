package run

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

// calls notes who was called, and answers with the next word of a chain.
type calls struct {
	chain map[string]string
	fails string
	got   []string
}

func (c *calls) call(_ context.Context, function string, e event.Event) (*event.Event, error) {
	c.got = append(c.got, function)
	next, ok := c.chain[function]
	switch {
	case function == c.fails:
		return nil, errors.New("no answer")
	case !ok:
		return nil, nil
	}
	reply := directEvent(next)
	return &reply, nil
}

func directEvent(typ string) event.Event {
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(typ)
	return e
}

type taker struct {
	err error
	got []string
}

func (b *taker) Send(_ context.Context, e event.Event) error {
	if b.err == nil {
		b.got = append(b.got, e.Type())
	}
	return b.err
}

// TestDirect: the owner is called; its reply goes to the broker, or to its own owner
// where the broker takes nothing (S19).
func TestDirect(t *testing.T) {
	chain := map[string]string{"isolate": "to.power", "power": "to.cleanup", "cleanup": "to.nobody"}
	for name, c := range map[string]struct {
		typ    string
		chain  map[string]string
		broker error
		fails  string
		called []string
		taken  []string
		err    string
	}{
		"a reply that the broker takes":   {typ: "to.isolate", chain: chain, called: []string{"isolate"}, taken: []string{"to.power"}},
		"no reply":                        {typ: "to.isolate", called: []string{"isolate"}},
		"for nobody":                      {typ: "to.nobody"},
		"the broker is dead":              {typ: "to.isolate", chain: chain, broker: errors.New("away"), called: []string{"isolate", "power", "cleanup"}},
		"the owner is dead":               {typ: "to.power", chain: chain, fails: "power", called: []string{"power"}, err: "call power: no answer"},
		"the broker and the next are":     {typ: "to.isolate", chain: chain, broker: errors.New("away"), fails: "power", called: []string{"isolate", "power"}, err: "call power: no answer"},
		"replies without an end are left": {typ: "to.power", chain: map[string]string{"power": "to.power"}, broker: errors.New("away"), called: slicesRepeat("power", hops), err: "event 1 of type to.power: no end after 12 replies"},
	} {
		t.Run(name, func(t *testing.T) {
			f, b := &calls{chain: c.chain, fails: c.fails}, &taker{err: c.broker}
			d := &Direct{Owner: func(typ string) string { return strings.TrimPrefix(strings.TrimPrefix(typ, "to."), "nobody") }, Call: f.call, Broker: b, Log: slog.New(slog.DiscardHandler)}
			got := ""
			if err := d.Send(t.Context(), directEvent(c.typ)); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(c.called, f.got) + cmp.Diff(c.taken, b.got); d != "" || got != c.err {
				t.Errorf("%q\n%s", got, d)
			}
		})
	}
}

func slicesRepeat(s string, n int) (all []string) {
	for range n {
		all = append(all, s)
	}
	return all
}

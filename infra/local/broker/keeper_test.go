//go:build linux

package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/nodefence/nodefence/infra/local/broker/brokentest"
	"github.com/nodefence/nodefence/shared/run"
)

// keep has a Keeper at work until the test ends.
func keep(t *testing.T, o Options) *Keeper {
	t.Helper()
	k, err := Keep(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	k.every, k.limit, k.wait = 10*time.Millisecond, 500*time.Millisecond, 10*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { k.Run(ctx); close(done) }()
	t.Cleanup(func() {
		stop()
		<-done
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// TestABrokerThatTakesNothingIsReplaced: the server keeps a stream's first write error
// until it ends. The call that is under way comes to its end first (S10), and what was
// stored is delivered by the next one.
func TestABrokerThatTakesNothingIsReplaced(t *testing.T) {
	var j journal
	inside, finish := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var log lockedBuffer
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")), Logger: slog.New(slog.NewTextHandler(&log, nil)), NoSync: true}
	o.Handlers = map[string]run.Handler{"gate": func(ctx context.Context, e event.Event) (*event.Event, error) {
		if e.ID() == "long" {
			once.Do(func() { close(inside); <-finish })
			if ctx.Err() != nil {
				j.note("interrupted")
			}
		}
		j.note(e.ID())
		return nil, nil
	}}
	k := keep(t, o)
	if err := k.Publish(t.Context(), makeEvent("test.gate", "long")); err != nil {
		t.Fatal(err)
	}
	<-inside
	if n, err := brokentest.Full(o.Dir); err != nil || n == 0 {
		t.Fatalf("%d files: %v", n, err)
	}
	eventually(t, "health that tells of the trouble", func() bool { return k.Health(t.Context()) != nil })
	eventually(t, "a drain", func() bool { return k.now().pulling.Err() != nil })
	first := k.now()
	if first.running.Err() != nil {
		t.Error("the call under way was interrupted")
	}
	close(finish)
	eventually(t, "another broker", func() bool { return k.now() != first && k.Health(t.Context()) == nil })
	if err := k.Publish(t.Context(), makeEvent("test.gate", "after")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event after", func() bool { return strings.Contains(strings.Join(j.all(), " "), "after") })
	if strings.Contains(log.String(), "emptied") || strings.Contains(strings.Join(j.all(), " "), "interrupted") {
		t.Errorf("%v\n%s", j.all(), log.String())
	}
}

// TestAFolderThatCantBeReadIsEmptied, and the log says what is lost.
func TestAFolderThatCantBeReadIsEmptied(t *testing.T) {
	var log lockedBuffer
	var j journal
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")), Logger: slog.New(slog.NewTextHandler(&log, nil)), NoSync: true}
	o.Handlers = map[string]run.Handler{"gate": func(_ context.Context, e event.Event) (*event.Event, error) { j.note(e.ID()); return nil, nil }}
	streams := filepath.Join(o.Dir, "jetstream")
	if err := os.WriteFile(streams, []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := keep(t, o)
	eventually(t, "a broker", func() bool { return k.Health(t.Context()) == nil })
	if err := k.Publish(t.Context(), makeEvent("test.gate", "1")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event", func() bool { return cmp.Equal([]string{"1"}, j.all()) })
	if !strings.Contains(log.String(), "which loses wake-ups and dead letters but no fence") {
		t.Error(log.String())
	}
}

// TestWithoutABrokerAtFirst: its folder can't be made, as on a full disk. Everything else
// runs meanwhile, and reports it.
func TestWithoutABrokerAtFirst(t *testing.T) {
	var log lockedBuffer
	o := Options{Dir: filepath.Join(t.TempDir(), strings.Repeat("x", 300)), Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{"gate": nothing}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	k := keep(t, o)
	if err := k.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "the broker is being restarted: start broker: make folder") {
		t.Errorf("health: %v", err)
	}
	_, idle := k.Idle(t.Context())
	_, kept := k.Events(t.Context())
	_, dead := k.DeadLetters(t.Context())
	for what, err := range map[string]error{"publish": k.Publish(t.Context(), makeEvent("test.gate", "1")), "ready": k.Ready(), "idle": idle, "events": kept, "dead letters": dead} {
		if !errors.Is(err, errNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !strings.Contains(log.String(), noBroker) {
		t.Error(log.String())
	}
}

// TestWhatNoTryCanMendIsRefused at once.
func TestWhatNoTryCanMendIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: filepath.Join(file, "broker"), Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{"gate": nothing}, Logger: slog.New(slog.DiscardHandler)}
	if _, err := Keep(t.Context(), o); err == nil {
		t.Error("a folder in a file is taken")
	}
}

// TestWhenAFolderIsEmptied: o opens the folder, e an emptied one.
func TestWhenAFolderIsEmptied(t *testing.T) {
	spoilt, late := errors.New("no space left on device"), fmt.Errorf("try the broker: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		opens []error
		want  string
	}{
		"it fails three times":                      {[]error{spoilt, spoilt, spoilt}, "o o o e"},
		"it is slow, for ever":                      {[]error{late, late, late, late, late, late}, "o o o o o o"},
		"the server is slow, for ever":              {[]error{nats.ErrTimeout, nats.ErrTimeout, nats.ErrTimeout, nats.ErrTimeout}, "o o o o"},
		"it fails twice, and is slow":               {[]error{spoilt, spoilt, late, late}, "o o o o"},
		"it fails twice, is slow, and fails":        {[]error{spoilt, late, spoilt, late, spoilt}, "o o o o o e"},
		"it fails twice, opens, and fails later":    {[]error{spoilt, spoilt, nil, spoilt, spoilt}, "o o o o o"},
		"it fails three times, and emptied it does": {[]error{spoilt, spoilt, spoilt, spoilt}, "o o o e o"},
		"another has it":                            {[]error{errNotOurs, errNotOurs, errNotOurs, errNotOurs}, "o o o o"},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			k := &Keeper{o: Options{Logger: slog.New(slog.DiscardHandler)}}
			var next error
			k.open = func(_ context.Context, emptied bool) (*Broker, error) {
				if emptied {
					did = append(did, "e")
					return nil, nil
				}
				did = append(did, "o")
				return nil, next
			}
			for _, next = range c.opens {
				_, _ = k.start(t.Context())
			}
			if d := cmp.Diff(c.want, strings.Join(did, " ")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAServerThatCantWrite does not answer its clients, and logs why.
func TestAServerThatCantWrite(t *testing.T) {
	b := &Broker{}
	b.said.log = slog.New(slog.DiscardHandler)
	if err := b.blame(context.DeadlineExceeded); !slow(err) {
		t.Errorf("nothing was said: %v", err)
	}
	b.said.Errorf("no space left on device")
	if err := b.blame(context.DeadlineExceeded); slow(err) || err.Error() != "no space left on device (context deadline exceeded)" {
		t.Errorf("the server said why: %v", err)
	}
	if err := b.blame(errNotOurs); !errors.Is(err, errNotOurs) {
		t.Error(err)
	}
}

// TestAFolderOfAnotherProcessIsLeftAlone.
func TestAFolderOfAnotherProcessIsLeftAlone(t *testing.T) {
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{"gate": nothing}}
	b := start(t, o)
	publish(t, b, makeEvent("test.gate", "1"))
	if _, err := Keep(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another process or broker has this folder") {
		t.Error(err)
	}
	if all, err := b.Events(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d events: %v", len(all), err)
	}
}

// TestProbesLeaveNothing in the record, and no Trigger gets them.
func TestProbesLeaveNothing(t *testing.T) {
	var j journal
	b := start(t, Options{Triggers: parse(t, one("gate", "")), NoSync: true, Handlers: map[string]run.Handler{
		"gate": func(_ context.Context, e event.Event) (*event.Event, error) { j.note(e.ID()); return nil, nil }}})
	for range 3 {
		if err := b.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, b, makeEvent("test.gate", "1"))
	eventually(t, "the event", func() bool { return len(j.all()) > 0 })
	info, err := b.events.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Events(t.Context())
	if d := cmp.Diff([]string{"1"}, j.all()); d != "" || info.State.Msgs != 1 || err != nil || len(all) != 1 {
		t.Errorf("%d messages, %d events (%v)\n%s", info.State.Msgs, len(all), err, d)
	}
}

// TestDevicesThatHangHoldUpNobodyElse: each of them takes a place, and there are enough.
func TestDevicesThatHangHoldUpNobodyElse(t *testing.T) {
	const hanging = 25 // more than the places of other functions
	var j journal
	b := start(t, Options{Triggers: parse(t, one("power", "")), Places: map[string]int{"power": 512}, NoSync: true, Handlers: map[string]run.Handler{
		"power": func(ctx context.Context, e event.Event) (*event.Event, error) {
			if strings.HasPrefix(e.ID(), "hangs") {
				j.note("hangs")
				<-ctx.Done()
				return nil, ctx.Err()
			}
			j.note(e.ID())
			return nil, nil
		}}})
	for i := range hanging {
		publish(t, b, makeEvent("test.power", "hangs"+string(rune('a'+i))))
	}
	eventually(t, "all to hang", func() bool { return len(j.all()) == hanging })
	publish(t, b, makeEvent("test.power", "healthy"))
	eventually(t, "the healthy one", func() bool { return len(j.all()) == hanging+1 })
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

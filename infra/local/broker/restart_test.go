package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run"
)

// childDir, when set, makes this test binary the process that will be killed.
const childDir = "NODEFENCE_BROKER_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := doomed(dir); err != nil {
			fmt.Println("child failed:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

const crashEvents = 200

// doomed publishes events, handles the even ones, hangs on the odd ones, and
// says so line by line until it is killed.
func doomed(dir string) error {
	triggers, err := Parse("triggers.yaml", []byte(one("gate", "retry: 3")+one("power", "retry: 3")))
	if err != nil {
		return err
	}
	handled := make(chan string, crashEvents)
	b, err := Start(context.Background(), Options{
		Dir: dir, Triggers: triggers, Logger: slog.New(slog.DiscardHandler), Concurrency: crashEvents,
		Handlers: map[string]run.Handler{
			"gate": func(ctx context.Context, e event.Event) (*event.Event, error) {
				if strings.HasSuffix(e.ID(), "odd") {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				handled <- e.ID()
				reply := makeEvent("test.power", e.ID()+"/reply")
				return &reply, nil
			},
			"power": func(ctx context.Context, _ event.Event) (*event.Event, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		},
	})
	if err != nil {
		return err
	}
	for i := range crashEvents {
		if err := b.Publish(context.Background(), makeEvent("test.gate", crashID(i))); err != nil {
			return err
		}
		fmt.Println("stored", crashID(i))
	}
	for {
		fmt.Println("handled", <-handled)
	}
}

func crashID(i int) string { return fmt.Sprint(i, []string{"even", "odd"}[i%2]) }

func TestAfterAKillWhateverWasNotAcknowledgedComesAgain(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childDir+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	handled := 0
	for lines := bufio.NewScanner(out); handled < crashEvents/2 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "handled ") {
			handled++
		} else if !strings.HasPrefix(lines.Text(), "stored ") {
			t.Errorf("child: %s", lines.Text())
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || c.ProcessState.ExitCode() != -1 {
		t.Fatalf("child ended by itself: %v", err)
	}
	if handled < crashEvents/2 {
		t.Fatalf("child handled %d events", handled)
	}

	var j journal
	b := start(t, Options{
		Dir: dir, Triggers: parse(t, one("gate", "retry: 3")+one("power", "retry: 3")), AckWait: 5 * time.Second,
		Handlers: map[string]run.Handler{
			"gate": func(_ context.Context, e event.Event) (*event.Event, error) {
				j.note("gate", e.ID())
				reply := makeEvent("test.power", e.ID()+"/reply")
				return &reply, nil
			},
			"power": func(_ context.Context, e event.Event) (*event.Event, error) { j.note("power", e.ID()); return nil, nil },
		},
	})
	settled(t, b)
	seen := map[string]int{}
	for _, line := range j.all() {
		seen[line]++
	}
	repeated := 0
	for i := range crashEvents {
		if n := seen["gate "+crashID(i)]; i%2 == 1 && n != 1 {
			t.Errorf("%s was in hand when the process died, and came %d times after", crashID(i), n)
		} else if i%2 == 0 {
			repeated += n
		}
		if n := seen["power "+crashID(i)+"/reply"]; n != 1 {
			t.Errorf("the reply to %s came %d times after", crashID(i), n)
		}
	}
	t.Logf("%d of %d handled events came a second time", repeated, crashEvents/2)
	if events, err := b.Events(t.Context()); err != nil || len(events) != 2*crashEvents {
		t.Errorf("%d events in the record (%v), want %d", len(events), err, 2*crashEvents)
	}
	if letters, err := b.DeadLetters(t.Context()); err != nil || len(letters) != 0 {
		t.Errorf("dead letters: %v, %v", letters, err)
	}
}

func TestOneBrokerAtATimeHasAFolder(t *testing.T) {
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")), Handlers: map[string]run.Handler{"gate": nothing}}
	first := start(t, o)
	want := "start broker: lock " + filepath.Join(o.Dir, "lock") + ": another process or broker has this folder"
	if _, err := Start(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("second: %v, want %s", err, want)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childDir+"="+o.Dir)
	if out, err := c.Output(); err == nil || string(out) != "child failed: "+want+"\n" {
		t.Errorf("second process: %v, %q", err, out)
	}
	if err := first.Ready(); err != nil {
		t.Errorf("first broker: %v", err)
	}
	first.close(t)
	if err := first.Ready(); !errors.Is(err, errClosed) {
		t.Errorf("closed broker: %v", err)
	}
	start(t, o)
}

func TestStartRefusesATriggerWithoutAHandler(t *testing.T) {
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Triggers: parse(t, fixture(t)),
		Handlers: map[string]run.Handler{"gate": nothing, "isolate": nothing, "power": nothing, "cleanup": nothing}})
	want := `start broker: triggers.yaml:161: spec.subscriber.ref.name: no function "recover" here, only cleanup, gate, isolate, power`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir()}); err == nil || err.Error() != "start broker: no triggers" {
		t.Errorf("no triggers: %v", err)
	}
}

func TestDrainLetsWhatRunsComeToItsEnd(t *testing.T) {
	inside, finish := make(chan struct{}), make(chan struct{})
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", "")+one("power", ""))}
	var j journal
	o.Handlers = map[string]run.Handler{
		"gate": func(ctx context.Context, _ event.Event) (*event.Event, error) {
			close(inside)
			<-finish
			reply := makeEvent("test.power", "reply")
			return &reply, ctx.Err()
		},
		"power": func(_ context.Context, e event.Event) (*event.Event, error) { j.note(e.ID()); return nil, nil },
	}
	b := start(t, o)
	publish(t, b, makeEvent("test.gate", "1"))
	<-inside
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(context.Background()) }()
	<-b.pulling.Done()
	close(finish)
	if err := <-drained; err != nil {
		t.Fatal(err)
	}
	o.Handlers["gate"] = func(context.Context, event.Event) (*event.Event, error) {
		j.note("gate again")
		return nil, nil
	}
	settled(t, start(t, o))
	if d := cmp.Diff([]string{"reply"}, j.all()); d != "" {
		t.Error(d)
	}
}

func TestAnInterruptedEventComesAgainAndIsNotDead(t *testing.T) {
	o := Options{Dir: t.TempDir(), Triggers: parse(t, one("gate", ""))}
	var calls atomic.Int32
	inside := make(chan struct{})
	o.Handlers = map[string]run.Handler{"gate": func(ctx context.Context, _ event.Event) (*event.Event, error) {
		if calls.Add(1) > 1 {
			return nil, nil
		}
		close(inside)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	b := start(t, o)
	publish(t, b, makeEvent("test.gate", "1"))
	<-inside
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Drain(late); !errors.Is(err, context.Canceled) {
		t.Errorf("drain without time: %v", err)
	}
	b = start(t, o)
	settled(t, b)
	letters, err := b.DeadLetters(t.Context())
	if calls.Load() != 2 || err != nil || len(letters) != 0 {
		t.Errorf("%d calls, dead letters %v, %v", calls.Load(), letters, err)
	}
}

func TestALongHandlerKeepsItsEvent(t *testing.T) {
	var calls atomic.Int32
	b := start(t, Options{Triggers: parse(t, one("gate", "")), AckWait: 3 * time.Second, Handlers: map[string]run.Handler{
		"gate": func(ctx context.Context, _ event.Event) (*event.Event, error) {
			calls.Add(1)
			pause(ctx, 7*time.Second) // more than twice as long as an event may lie about
			return nil, nil
		}}})
	publish(t, b, makeEvent("test.gate", "1"))
	settled(t, b)
	if n := calls.Load(); n != 1 {
		t.Errorf("called %d times", n)
	}
}

func TestANewTriggerHearsOnlyWhatComesAfterIt(t *testing.T) {
	var j journal
	hear := func(name string) run.Handler {
		return func(_ context.Context, e event.Event) (*event.Event, error) { j.note(name, e.ID()); return nil, nil }
	}
	o := Options{Dir: t.TempDir(), Handlers: map[string]run.Handler{"gate": hear("gate"), "power": hear("power")}}
	power := strings.ReplaceAll(one("power", ""), "test.power", "test.gate")
	for i, text := range []string{one("gate", ""), one("gate", "") + power, one("gate", ""), one("gate", "") + power} {
		o.Triggers = parse(t, text)
		b := start(t, o)
		settled(t, b)
		publish(t, b, makeEvent("test.gate", fmt.Sprint(i)))
		settled(t, b)
		b.close(t)
	}
	seen := map[string]int{}
	for _, line := range j.all() {
		seen[line]++
	}
	if d := cmp.Diff(map[string]int{"gate 0": 1, "gate 1": 1, "gate 2": 1, "gate 3": 1, "power 1": 1, "power 3": 1}, seen); d != "" {
		t.Error(d)
	}
}

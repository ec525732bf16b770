package broker

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

const token = "hunter2-hunter2-hunter2"

// redactToken stands for what nodefence takes out of a request.
func redactToken(e event.Event) (event.Event, bool) {
	if !bytes.Contains(e.Data(), []byte(token)) {
		return e, false
	}
	e = e.Clone()
	_ = e.SetData(event.ApplicationJSON, map[string]string{"token": "[redacted]"})
	return e, true
}

func TestASecretIsErasedOnceItIsUsed(t *testing.T) { // S29
	for name, c := range map[string]struct {
		err  error
		dead int
	}{
		"an event that was handled":  {nil, 0},
		"an event that was given up": {errors.New("no"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, seen := t.TempDir(), make(chan bool, 9)
			gate := func(_ context.Context, e event.Event) (*event.Event, error) {
				seen <- bytes.Contains(e.Data(), []byte(token))
				return nil, c.err
			}
			b := start(t, Options{
				Dir: dir, Redact: redactToken, Handlers: map[string]run.Handler{"gate": gate, "power": gate},
				Triggers: parse(t, one("gate", "retry: 1, backoffPolicy: exponential, backoffDelay: PT0.01S")+
					one("power", "retry: 0, backoffPolicy: exponential, backoffDelay: PT0.01S")),
			})
			e := makeEvent("test.gate", "1")
			if err := e.SetData(event.ApplicationJSON, map[string]string{"token": token}); err != nil {
				t.Fatal(err)
			}
			publish(t, b, e)
			if !<-seen {
				t.Error("the function did not get the token")
			}
			settled(t, b)
			waitErased(t, b)
			dead, err := b.DeadLetters(t.Context())
			if err != nil || len(dead) != c.dead {
				t.Errorf("%d dead letters, want %d (%v)", len(dead), c.dead, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if found := holds(t, dir, token); found != "" {
				t.Errorf("%s holds the token", found)
			}
		})
	}
}

// waitErased waits until nothing is left in the record.
func waitErased(t *testing.T, b *Broker) {
	t.Helper()
	eventually(t, "the event to be erased", func() bool {
		all, err := b.Events(t.Context())
		return err == nil && len(all) == 0
	})
}

// holds is a file under dir with these bytes.
func holds(t *testing.T, dir, what string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(what)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nodefence/nodefence/shared/clip"
)

const (
	triggerHeader = "Nodefence-Trigger"
	errorHeader   = "Nodefence-Error"
	triesHeader   = "Nodefence-Tries"
)

// DeadLetter is an event that a Trigger gave up.
type DeadLetter struct {
	Event   event.Event
	Trigger string
	Error   string
	Tries   int
}

// Events returns the stored events, oldest first, as far as they are kept.
func (b *Broker) Events(ctx context.Context) ([]event.Event, error) {
	var all []event.Event
	err := b.each(ctx, b.events, eventsSubject, func(m *jetstream.RawStreamMsg) error {
		var e event.Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			return err
		}
		e, _ = b.o.Redact(e)
		all = append(all, e)
		return nil
	})
	return all, err
}

// DeadLetters returns the events that were given up, oldest first, as far as they are kept.
func (b *Broker) DeadLetters(ctx context.Context) ([]DeadLetter, error) {
	var all []DeadLetter
	err := b.each(ctx, b.dead, deadSubject, func(m *jetstream.RawStreamMsg) error {
		l := DeadLetter{Trigger: m.Header.Get(triggerHeader), Error: m.Header.Get(errorHeader)}
		l.Tries, _ = strconv.Atoi(m.Header.Get(triesHeader))
		if err := json.Unmarshal(m.Data, &l.Event); err != nil {
			return err
		}
		all = append(all, l)
		return nil
	})
	return all, err
}

// each reads a stream up to its present end.
func (b *Broker) each(ctx context.Context, s jetstream.Stream, subject string, read func(*jetstream.RawStreamMsg) error) error {
	info, err := s.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at stream: %w", err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil // the stream has dropped the rest meanwhile
		}
		if err != nil {
			return fmt.Errorf("read event %d: %w", seq, err)
		}
		seq = m.Sequence
		if err := read(m); err != nil {
			return fmt.Errorf("decode event %d: %w", seq, err)
		}
	}
	return nil
}

// bury stores a dead letter, only once even if a crash repeats it.
func (b *Broker) bury(e event.Event, trigger string, tries int, cause error) error {
	e, _ = b.o.Redact(e)
	m, err := message(deadSubject, e)
	if err != nil {
		return err
	}
	text := oneLine(cause.Error())
	m.Header.Set(triggerHeader, trigger)
	m.Header.Set(errorHeader, clip.To(1024, text))
	m.Header.Set(triesHeader, strconv.Itoa(tries))
	_, err = b.js.PublishMsg(b.running, m, jetstream.WithMsgID(dedupKey(e, trigger)), jetstream.WithExpectStream(deadStream))
	return err
}

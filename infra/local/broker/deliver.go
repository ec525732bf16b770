package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nodefence/nodefence/shared/run"
)

var errLoop = errors.New("reply loop")

const ackTimeout = 5 * time.Second

// delivery delivers the events of one Trigger.
type delivery struct {
	*Broker
	trigger  *Trigger
	handle   run.Handler
	consumer jetstream.Consumer
	log      *slog.Logger
	// places has one entry for each event that is being handled.
	places chan struct{}
}

// work takes one event at a time, and only when there is room to handle it. If it fetched
// events ahead, their AckWait would run out while they wait for room.
func (d *delivery) work() {
	for d.pulling.Err() == nil {
		select {
		case d.places <- struct{}{}:
		case <-d.pulling.Done():
			return
		}
		m, err := d.consumer.Next(jetstream.FetchContext(d.pulling))
		if err == nil {
			d.workers.Go(func() {
				defer func() { <-d.places }()
				d.take(m)
			})
			continue
		}
		<-d.places
		switch {
		case d.pulling.Err() != nil, errors.Is(err, nats.ErrTimeout):
		default:
			d.log.Warn("cannot take events; trying again in a second", "error", err)
			pause(d.pulling, time.Second)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (d *delivery) take(m jetstream.Msg) {
	var e event.Event
	if err := json.Unmarshal(m.Data(), &e); err != nil {
		d.log.Error("cannot read a stored event; the event is dropped", "error", err)
		_ = m.Term()
		return
	}
	if !d.trigger.Matches(e) {
		_ = m.Ack() // if this is lost, the event is ignored once more
		d.forget(m, e)
		return
	}
	stop := d.hold(m)
	started := time.Now()
	err := d.run(m, e)
	d.metrics.seconds.WithLabelValues(d.trigger.Name).Observe(time.Since(started).Seconds())
	stop()
	if d.settle(m, e, err) {
		d.forget(m, e)
	}
}

// hold tells the stream from time to time that the event is still being handled.
func (d *delivery) hold(m jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(d.o.AckWait / 3)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				_ = m.InProgress()
			}
		}
	}()
	return func() { cancel(); <-done }
}

// run handles the event and stores the reply. It acknowledges the event only after that. A
// crash in between repeats both, and the reply's ID makes the second one a duplicate.
func (d *delivery) run(m jetstream.Msg, e event.Event) error {
	ctx, cancel := context.WithTimeout(d.running, d.o.HandlerTimeout)
	defer cancel()
	reply, err := d.handle(ctx, e)
	if err != nil || reply == nil {
		return err
	}
	hops, _ := strconv.Atoi(m.Headers().Get(hopsHeader))
	if hops >= maxHops {
		return fmt.Errorf("%w: %w: %d replies", run.ErrMalformed, errLoop, hops)
	}
	if err := d.publish(d.running, *reply, hops+1); err != nil {
		// %v: a malformed reply is a fault of the handler and not of the event.
		return fmt.Errorf("store reply: %v", err)
	}
	return nil
}

// settle ends a delivery: as done, to be repeated, or dead. It reports whether this Trigger
// is done with the event. A restart uses up one try, but no event is given up unless its
// handler failed.
func (d *delivery) settle(m jetstream.Msg, e event.Event, err error) (through bool) {
	tries := 1
	if md, mdErr := m.Metadata(); mdErr == nil {
		tries = int(md.NumDelivered)
	}
	switch {
	case err == nil:
		d.count("done")
		d.acknowledge(m)
	case d.running.Err() != nil:
		d.count("interrupted")
		d.putBack(m)
		return false
	case errors.Is(err, run.ErrMalformed):
		d.count("malformed")
		return d.giveUp(m, e, tries, err)
	case tries > d.trigger.Retries:
		d.count("failed")
		return d.giveUp(m, e, tries, err)
	default:
		d.count("again")
		d.logger(e).Warn("delivery failed; it will be repeated", "try", tries, "error", err)
		d.repeat(m, d.trigger.Backoff(tries-1))
		return false
	}
	return true
}

func (d *delivery) count(result string) {
	d.metrics.deliveries.WithLabelValues(d.trigger.Name, result).Inc()
}

// giveUp stores the dead letter before it acknowledges the event.
func (d *delivery) giveUp(m jetstream.Msg, e event.Event, tries int, cause error) (through bool) {
	err := d.bury(e, d.trigger.Name, tries, cause)
	if err != nil {
		d.logger(e).Error("cannot store the dead letter; the event is kept", "error", err)
		d.repeat(m, time.Second)
		return false
	}
	d.logger(e).Error("event given up", "tries", tries, "error", cause)
	d.metrics.dead.WithLabelValues(d.trigger.Name).Inc()
	d.o.OnDeadLetter(e, d.trigger.Name, cause)
	d.acknowledge(m)
	return true
}

// acknowledge waits until the server confirms. Without waiting, the client acknowledges in
// the background, and a stop right after would lose the acknowledgement.
func (d *delivery) acknowledge(m jetstream.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.running), ackTimeout)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		d.log.Warn("cannot acknowledge an event; it will be delivered again", "error", err)
	}
}

// putBack makes an event due at once after the next start. The request is written out here,
// because the server remembers only the form with a delay across a stop, and the client's
// own form doesn't wait for the server's answer.
func (d *delivery) putBack(m jetstream.Msg) {
	_, err := d.conn.Request(m.Reply(), []byte(`-NAK {"delay": 1}`), ackTimeout)
	if err != nil {
		d.log.Warn("cannot return an event to the stream; it will be delivered again later", "error", err)
	}
}

func (d *delivery) repeat(m jetstream.Msg, wait time.Duration) {
	if err := m.NakWithDelay(wait); err != nil {
		d.log.Warn("cannot schedule the repetition; the event will be delivered again later", "error", err)
	}
}

func (d *delivery) logger(e event.Event) *slog.Logger {
	return d.log.With("event", e.ID(), "type", e.Type(), "node", e.Subject())
}

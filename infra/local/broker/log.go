package broker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// serverLog writes the NATS server's messages to our log. The server's notices are debug
// messages there; its errors, such as a full disk, are errors there too.
type serverLog struct {
	log   *slog.Logger
	mu    sync.Mutex
	error string
	fatal bool
}

func (l *serverLog) say(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "nats server", "text", fmt.Sprintf(format, v...))
}

func (l *serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.say(slog.LevelDebug, format, v) }

func (l *serverLog) Errorf(format string, v ...any) {
	l.mu.Lock()
	l.error = fmt.Sprintf(format, v...)
	l.mu.Unlock()
	l.say(slog.LevelError, format, v)
}

// Fatalf only logs. The server itself is asked whether it runs.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	l.mu.Lock()
	l.fatal = true
	l.mu.Unlock()
}

// ended says that the server has logged its last message.
func (l *serverLog) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// last returns the last error, or an empty text.
func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.error
}

// blame adds the server's own error to a timeout: a server that can't write sends no answer
// to those who wait for it, and only logs why.
func (b *Broker) blame(err error) error {
	if said := b.said.last(); slow(err) && said != "" {
		return fmt.Errorf("%s (%s)", said, err.Error())
	}
	return err
}

func (l *serverLog) async(_ *nats.Conn, _ *nats.Subscription, err error) {
	l.log.Debug("nats client", "error", err)
}

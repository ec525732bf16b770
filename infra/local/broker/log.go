package broker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// serverLog puts the NATS server's words where ours are. Its chatter is for
// debugging; what it calls an error, such as a full disk, is one for us too.
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

// Fatalf only reports. Whether the server runs is asked of the server.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	l.mu.Lock()
	l.fatal = true
	l.mu.Unlock()
}

// ended tells that the server has said its last word.
func (l *serverLog) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// last is the last error, or empty.
func (l *serverLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.error
}

// blame names the server's own error where all that is known is that it took too long:
// a server that can't write says nothing to those who wait for its answer.
func (b *Broker) blame(err error) error {
	if said := b.said.last(); slow(err) && said != "" {
		return fmt.Errorf("%s (%s)", said, err.Error())
	}
	return err
}

func (l *serverLog) async(_ *nats.Conn, _ *nats.Subscription, err error) {
	l.log.Debug("nats client", "error", err)
}

package run

import (
	"io"
	"log/slog"

	"k8s.io/klog/v2"
)

// NewLog is the log of a process: JSON, one object a line. What client-go has to say goes
// there too, because one line in another form ends whatever reads the log as JSON.
func NewLog(out io.Writer, level slog.Level) *slog.Logger {
	log := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(log.With("from", "client-go"))
	return log
}

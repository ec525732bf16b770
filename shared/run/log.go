package run

import (
	"io"
	"log/slog"

	"k8s.io/klog/v2"
)

// NewLog is the log of a process: JSON, one object in each line. Client-go's messages go
// there too, because one line in another form breaks every reader of JSON lines.
func NewLog(out io.Writer, level slog.Level) *slog.Logger {
	log := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(log.With("from", "client-go"))
	return log
}

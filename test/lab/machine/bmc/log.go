package bmc

import (
	"context"
	"slices"
	"sync"
	"time"

	control "github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"
)

// Command is one that the BMC got: on, off, cycle, reset, soft or diag; or
// status, which only reads.
type Command struct {
	Time     time.Time `json:"time"`
	Command  string    `json:"command"`
	Accepted bool      `json:"accepted"`
}

// keep bounds the reads in a log, of which a lab that runs for days has many.
// What may change the power is never dropped.
const keep = 2000

type log struct {
	mu       sync.Mutex
	commands []Command
	reads    int
}

func (l *log) add(c Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commands = append(l.commands, c)
	if c.Command != statusRead {
		return
	}
	if l.reads++; l.reads > keep {
		first := slices.IndexFunc(l.commands, func(c Command) bool { return c.Command == statusRead })
		l.commands = slices.Delete(l.commands, first, first+1)
		l.reads--
	}
}

func (l *log) all() []Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Command{}, l.commands...)
}

const statusRead = "status"

var words = map[control.ChassisControl]string{
	control.ChassisControlPowerDown:           "off",
	control.ChassisControlPowerUp:             "on",
	control.ChassisControlPowerCycle:          "cycle",
	control.ChassisControlHardReset:           "reset",
	control.ChassisControlSoftShutdown:        "soft",
	control.ChassisControlDiagnosticInterrupt: "diag",
}

// record is middleware: it also sees commands that are refused for lack of a privilege.
func (l *log) record(next handlers.Handler) handlers.Handler {
	return handlers.HandlerFunc(func(ctx context.Context, hctx *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
		arrived := time.Now()
		response, code, err := next.Handle(ctx, hctx, request)
		if word := wordFor(hctx.Command, request); word != "" {
			l.add(Command{Time: arrived, Command: word, Accepted: code == types.CodeOK && err == nil})
		}
		return response, code, err
	})
}

func wordFor(command types.Command, request []byte) string {
	switch {
	case command == types.CommandGetChassisStatus:
		return statusRead
	case command != types.CommandChassisControl:
		return ""
	case len(request) == 0:
		return "malformed"
	}
	if word, known := words[control.ChassisControl(request[0]&0x0f)]; known {
		return word
	}
	return "unknown"
}

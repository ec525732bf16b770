package bmc

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
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
	// Says is what a read was answered: on or off.
	Says string `json:"says,omitempty"`
}

// journalLine is a line of the journal: a command, or a fault that was set.
type journalLine struct {
	Controller string `json:"controller"`
	Address    string `json:"address"`
	Command
	Fault string `json:"fault,omitempty"`
}

// keep bounds the reads in a log, of which a lab that runs for days has many.
// What may change the power is never dropped.
const keep = 2000

type log struct {
	// name and address are those of the BMC. Each command is also written to journal, if there is one.
	name, address string
	journal       io.Writer

	mu       sync.Mutex
	commands []Command
	reads    int
}

func (l *log) add(c Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(journalLine{Command: c})
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

// addFault adds a fault, and the time at which the fault was set, to the journal.
func (l *log) addFault(kind string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(journalLine{Command: Command{Time: at}, Fault: kind})
}

// write adds a line to the journal. A line that is lost makes the test fail that reads the journal.
func (l *log) write(line journalLine) {
	if l.journal == nil {
		return
	}
	line.Controller, line.Address = l.name, l.address
	if err := json.NewEncoder(l.journal).Encode(line); err != nil {
		slog.Error("journal of BMC not written", "controller", l.name, "error", err)
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
			accepted := code == types.CodeOK && err == nil
			l.add(Command{Time: arrived, Command: word, Accepted: accepted, Says: describeAnswer(word, accepted, response)})
		}
		return response, code, err
	})
}

// describeAnswer returns the power that the answer to a read tells: the first bit, as IPMI has it.
func describeAnswer(word string, accepted bool, response []byte) string {
	switch {
	case word != statusRead || !accepted || len(response) == 0:
		return ""
	case response[0]&1 == 1:
		return "on"
	}
	return "off"
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

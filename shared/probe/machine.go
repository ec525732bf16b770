package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Within bounds one connection: a machine that runs answers a SYN, or its repetitions after
// one and three seconds.
const Within = 4 * time.Second

// Machine connects to a machine, and at the same time to others that should answer. An open
// port is activity, and so is a connection that the machine itself refuses. No answer is
// silence, if at least one other machine answers.
func Machine(ctx context.Context, target string, others []string) (api.Answer, string) {
	heard := make(chan bool, len(others))
	for _, o := range others {
		go func() {
			answer, _ := Port(ctx, o)
			heard <- answer == api.AnswerActivity
		}()
	}
	answer, words := Port(ctx, target)
	anybody := false
	for range others {
		anybody = <-heard || anybody
	}
	switch {
	case answer != api.AnswerNone:
		return answer, words
	case len(others) == 0:
		return api.AnswerError, words + ", and there is no other Ready node to compare with"
	case !anybody:
		return api.AnswerError, words + ", and neither does any of " + strings.Join(others, ", ") + ": it may be we who are cut off"
	}
	return api.AnswerNone, words
}

// Port connects to one host:port: a machine that refuses the connection runs.
func Port(ctx context.Context, addr string) (api.Answer, string) {
	err := dial(ctx, addr)
	if refused(err) {
		return api.AnswerActivity, addr + " is refused by the machine, which therefore runs"
	}
	return answerOf(addr, err)
}

// Service connects to one host:port: a service that refuses the connection does not serve.
func Service(ctx context.Context, addr string) (api.Answer, string) {
	err := dial(ctx, addr)
	if refused(err) {
		return api.AnswerNone, addr + " refuses connections"
	}
	return answerOf(addr, err)
}

func dial(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func answerOf(addr string, err error) (api.Answer, string) {
	var dns *net.DNSError
	switch {
	case err == nil:
		return api.AnswerActivity, addr + " answers"
	case errors.As(err, &dns):
		return api.AnswerError, err.Error()
	case os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		return api.AnswerNone, addr + " does not answer"
	}
	return api.AnswerError, err.Error()
}

// refused: the machine itself refused the connection.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

// The exit codes of the subcommand, the same as for any check.
const (
	exitActivity = 0
	exitNone     = 1
	exitError    = 2
)

// HostIP is the environment variable with the address of the node that the subcommand runs
// on, so that the subcommand does not connect to its own node.
const HostIP = "NODEFENCE_HOST_IP"

// Command is `nodefence reach host:port other:port...`, which the Jobs of checks of type
// Neighbors run. It returns the exit code and the text to print.
func Command(ctx context.Context, args []string, hostIP string) (int, string) {
	if len(args) == 0 {
		return exitError, "usage: nodefence reach host:port [other:port...]"
	}
	var others []string
	for _, o := range args[1:] {
		if host, _, err := net.SplitHostPort(o); err == nil && host != hostIP {
			others = append(others, o)
		}
	}
	answer, words := Machine(ctx, args[0], others)
	switch answer {
	case api.AnswerActivity:
		return exitActivity, words
	case api.AnswerNone:
		return exitNone, words
	}
	return exitError, words
}

package probe

import (
	"net"
	"syscall"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig/port"
)

// open answers; silent accepts nobody, and its queue is full; closed is refused.
func open(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func silent(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	conn, err := net.Dial("tcp4", addr) // the queue holds one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return addr
}

func closed(t *testing.T) string {
	t.Helper()
	c, err := port.NewClosed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.Addr
}

func TestMachine(t *testing.T) {
	up, dead, down := open(t), silent(t), closed(t)
	for name, c := range map[string]struct {
		target string
		others []string
		want   api.Answer
		exit   int
	}{
		"an open port is activity":                       {up, nil, api.AnswerActivity, 0},
		"a refused one is activity: a machine refuses":   {down, nil, api.AnswerActivity, 0},
		"silence beside an answer is none":               {dead, []string{dead, up}, api.AnswerNone, 1},
		"silence beside a refusal is none":               {dead, []string{down}, api.AnswerNone, 1},
		"silence everywhere may be our own":              {dead, []string{dead}, api.AnswerError, 2},
		"silence with nobody to compare with is nothing": {dead, nil, api.AnswerError, 2},
		"a name that can't be resolved is nothing":       {"no.such.host.invalid:1", []string{up}, api.AnswerError, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, words := Machine(t.Context(), c.target, c.others); got != c.want {
				t.Errorf("%s: %s", got, words)
			}
			if got, words := Command(t.Context(), append([]string{c.target}, c.others...), "192.0.2.1"); got != c.exit {
				t.Errorf("exit %d: %s", got, words)
			}
		})
	}
}

func TestAServiceThatRefusesIsDown(t *testing.T) {
	for addr, want := range map[string]api.Answer{open(t): api.AnswerActivity, closed(t): api.AnswerNone} {
		if got, words := Service(t.Context(), addr); got != want {
			t.Errorf("%s: %s", got, words)
		}
	}
}

// TestOnesOwnNodeIsNoOther: a neighbor that reaches its own node proves nothing.
func TestOnesOwnNodeIsNoOther(t *testing.T) {
	if code, words := Command(t.Context(), []string{silent(t), open(t)}, "127.0.0.1"); code != exitError {
		t.Errorf("exit %d: %s", code, words)
	}
	if code, _ := Command(t.Context(), nil, ""); code != exitError {
		t.Errorf("without arguments: exit %d", code)
	}
}
